// SPDX-License-Identifier: GPL-2.0

#include <linux/cred.h>
#include <linux/key.h>
#include <linux/verification.h>
#include <keys/encrypted-type.h>
#include <keys/user-type.h>

__rust_helper struct key *rust_helper_rdm_keyring_alloc(const char *description)
{
	return keyring_alloc(description, GLOBAL_ROOT_UID, GLOBAL_ROOT_GID,
			     current_cred(),
			     KEY_POS_SEARCH | KEY_USR_VIEW | KEY_USR_READ |
			     KEY_USR_WRITE | KEY_USR_SEARCH | KEY_USR_SETATTR,
			     KEY_ALLOC_NOT_IN_QUOTA, NULL, NULL);
}

__rust_helper int rust_helper_rdm_keyring_seal(struct key *keyring)
{
	return keyring_restrict(make_key_ref(keyring, true), NULL, NULL);
}

__rust_helper bool rust_helper_rdm_keyring_has_keys(const struct key *keyring)
{
	return !!READ_ONCE(keyring->keys.nr_leaves_on_tree);
}

__rust_helper bool rust_helper_rdm_keyring_is_restricted(const struct key *keyring)
{
	return !!READ_ONCE(keyring->restrict_link);
}

__rust_helper void rust_helper_key_get(struct key *key)
{
	key_get(key);
}

/* Kinds of keys: 0 user, 1 logon, 2 encrypted. */
__rust_helper struct key *rust_helper_rdm_request_key(int kind, const char *description)
{
	switch (kind) {
	case 0:
		return request_key(&key_type_user, description, NULL);
	case 1:
		return request_key(&key_type_logon, description, NULL);
#if IS_ENABLED(CONFIG_ENCRYPTED_KEYS)
	case 2:
		return request_key(&key_type_encrypted, description, NULL);
#endif
	default:
		return ERR_PTR(-EINVAL);
	}
}

__rust_helper const u8 *rust_helper_rdm_key_lock(struct key *key, int kind, size_t *len)
{
	const struct encrypted_key_payload *encrypted;
	const struct user_key_payload *user;

	down_read(&key->sem);
	if (kind == 2) {
		encrypted = key->payload.data[0];
		if (!encrypted)
			return NULL;
		*len = encrypted->decrypted_datalen;
		return encrypted->decrypted_data;
	}
	user = user_key_payload_locked(key);
	if (!user)
		return NULL;
	*len = user->datalen;
	return user->data;
}

__rust_helper void rust_helper_rdm_key_unlock(struct key *key)
{
	up_read(&key->sem);
}

/* Which keys: those of a keyring, or 1 for the secondary, 2 for the platform keyring. */
__rust_helper int rust_helper_rdm_verify_pkcs7(const u8 *data, size_t len,
					       const u8 *signature, size_t signature_len,
					       struct key *keyring)
{
#ifdef CONFIG_SYSTEM_DATA_VERIFICATION
	return verify_pkcs7_signature(data, len, signature, signature_len, keyring,
				      VERIFYING_UNSPECIFIED_SIGNATURE, NULL, NULL);
#else
	return -ENOPKG;
#endif
}
