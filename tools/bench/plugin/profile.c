// SPDX-License-Identifier: GPL-2.0
/*
 * A TCG plugin that counts the instructions executed at each address. When the
 * guest executes the mark (see marks.py), it writes all counts so far:
 *
 *   mark NUMBER
 *   ADDRESS INSTRUCTIONS		once for each block of code that ran
 */

#include "qemu-plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* Blocks of code are told apart by their virtual address. */
#define SLOTS (1u << 20)
static uint64_t addresses[SLOTS];
static struct qemu_plugin_scoreboard *counts;

static const uint8_t mark[] = { 0x0f, 0x1f, 0x80, 0x42, 0x6d, 0x64, 0x72 };
static unsigned int marks;
static FILE *out;

static qemu_plugin_u64 counter(uint32_t slot)
{
	return (qemu_plugin_u64){ .score = counts, .offset = slot * sizeof(uint64_t) };
}

static uint32_t slot_of(uint64_t address)
{
	uint32_t slot = (address * 0x9e3779b97f4a7c15u) >> 44;
	uint32_t tries;

	for (tries = 0; tries < SLOTS; tries++, slot = (slot + 1) % SLOTS) {
		if (!addresses[slot])
			addresses[slot] = address;
		if (addresses[slot] == address)
			return slot;
	}
	fprintf(stderr, "profile: too many blocks of code\n");
	exit(1);
}

static void on_mark(unsigned int vcpu, void *data)
{
	uint32_t slot;

	(void)vcpu;
	(void)data;
	fprintf(out, "mark %u\n", marks++);
	for (slot = 0; slot < SLOTS; slot++) {
		uint64_t n = addresses[slot] ? qemu_plugin_u64_sum(counter(slot)) : 0;

		if (n)
			fprintf(out, "%" PRIx64 " %" PRIu64 "\n", addresses[slot], n);
	}
	fflush(out);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	uint8_t bytes[sizeof(mark)];

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64,
							  counter(slot_of(qemu_plugin_tb_vaddr(tb))), n);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_data(insn, bytes, sizeof(bytes)) == sizeof(mark) &&
		    !memcmp(bytes, mark, sizeof(mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_NO_REGS, NULL);
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "profile: out=FILE is needed\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	counts = qemu_plugin_scoreboard_new(SLOTS * sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
