/* Which tracks a Perfetto file has, and on which of them a call is. */
#include "format/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleantext.h"
#include "base/vec.h"
#include "format/callcontext.h"

/* A track without a thread. @number: follows the name; UINT32_MAX: none. */
void perfetto_put_track(struct perfetto *pf, uint64_t uuid, uint64_t parent, const char *name,
			uint32_t number)
{
	char bytes[64];
	struct strbuf full = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t descriptor = protobuf_begin(pf->out, PACKET_TRACK_DESCRIPTOR);

	strbuf_str(&full, name);
	if (number != UINT32_MAX)
		strbuf_u64(&full, number);
	protobuf_uint(pf->out, DESCRIPTOR_UUID, uuid);
	protobuf_string(pf->out, DESCRIPTOR_NAME, (struct text){ full.ptr, full.len });
	if (parent)
		protobuf_uint(pf->out, DESCRIPTOR_PARENT, parent);
	protobuf_end(pf->out, descriptor);
	protobuf_end(pf->out, packet);
}

/* NULL: no memory (pf->err is set), or an impossible CPU number. */
struct cputracks *perfetto_cpu(struct perfetto *pf, uint32_t cpu)
{
	if (cpu >= CALLTREE_CPU_MAX)
		return NULL;
	if (VEC_RESERVE_ZEROED(pf->cpus, pf->cpu_cnt, (size_t)cpu + 1)) {
		pf->err = -ENOMEM;
		return NULL;
	}
	if (!pf->cpus[cpu])
		pf->cpus[cpu] = calloc(1, sizeof(struct cputracks));
	if (!pf->cpus[cpu])
		pf->err = -ENOMEM;
	return pf->cpus[cpu];
}

void perfetto_name_cpu(struct perfetto *pf, uint32_t cpu)
{
	struct cputracks *tracks = perfetto_cpu(pf, cpu);

	if (tracks && !tracks->has_group)
		perfetto_put_track(pf, UUID(UUID_CPU, cpu), 0, "CPU ", cpu);
	if (tracks)
		tracks->has_group = true;
}

static bool is_thread(const struct calltask *task)
{
	return task->kind == CALLTASK_NORMAL;
}

/* user_renames: the process that the task's track has. It stays the same while calls are open. */
uint64_t perfetto_task_uuid(const struct calltask *task)
{
	if (!is_thread(task))
		return UUID(task->kind == CALLTASK_IDLE ? UUID_IDLE : UUID_UNTOLD, task->cpu);
	if (!task->user_renames)
		return UUID(UUID_LONE, task->tid);
	return UUID(UUID_THREAD, (uint64_t)task->user_renames << 24 | task->tid);
}

static void name_process(struct perfetto *pf, const struct calltask *task)
{
	uint32_t pid = task->user_renames;
	size_t packet;
	size_t descriptor;
	size_t process;

	if (pid >= CALLTREE_TRACK_GROUP)
		return;
	if (!pf->processes)
		pf->processes = calloc(CALLTREE_TRACK_GROUP / 64, sizeof(uint64_t));
	if (!pf->processes) {
		pf->err = -ENOMEM;
		return;
	}
	if (pf->processes[pid / 64] & 1ull << pid % 64)
		return;
	pf->processes[pid / 64] |= 1ull << pid % 64;
	packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	descriptor = protobuf_begin(pf->out, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(pf->out, DESCRIPTOR_UUID, UUID(UUID_PROCESS, pid));
	process = protobuf_begin(pf->out, DESCRIPTOR_PROCESS);
	protobuf_uint(pf->out, PROCESS_PID, pid);
	protobuf_string(pf->out, PROCESS_NAME, task->process.len ? task->process : task->comm);
	protobuf_end(pf->out, process);
	protobuf_end(pf->out, descriptor);
	protobuf_end(pf->out, packet);
}

static void put_thread(struct perfetto *pf, const struct calltask *task)
{
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t descriptor = protobuf_begin(pf->out, PACKET_TRACK_DESCRIPTOR);
	size_t thread = 0;
	size_t name;

	protobuf_uint(pf->out, DESCRIPTOR_UUID, perfetto_task_uuid(task));
	if (task->user_renames) {
		thread = protobuf_begin(pf->out, DESCRIPTOR_THREAD);
		protobuf_uint(pf->out, THREAD_PID, task->user_renames);
		protobuf_uint(pf->out, THREAD_TID, task->tid);
	}
	name = protobuf_begin(pf->out, thread ? THREAD_NAME : DESCRIPTOR_NAME);
	fmt_task(pf->out, task, CLEAN_WORD);
	if (!thread) {
		strbuf_char(pf->out, ' ');
		strbuf_u64(pf->out, task->tid);
	}
	protobuf_end(pf->out, name);
	if (thread)
		protobuf_end(pf->out, thread);
	else
		protobuf_uint(pf->out, DESCRIPTOR_PARENT, UUID(UUID_LONE, 0));
	protobuf_end(pf->out, descriptor);
	protobuf_end(pf->out, packet);
}

/* @has_callers: it is within a call, and stays on the track it has. */
void perfetto_name_task(struct perfetto *pf, struct calltask *task, bool has_callers)
{
	bool is_new = !task->user;

	if (task->user == task->renames + 1)
		return;
	if (!has_callers || is_new)
		task->user_renames = task->tgid;
	if (!has_callers || is_new || task->user_renames == task->tgid)
		task->user = task->renames + 1;
	if (!is_thread(task)) {
		perfetto_name_cpu(pf, task->cpu);
		if (is_new)
			perfetto_put_track(pf, perfetto_task_uuid(task), UUID(UUID_CPU, task->cpu),
					   task->kind == CALLTASK_IDLE ? "swapper/" : "cpu ",
					   task->cpu);
		return;
	}
	if (task->user_renames)
		name_process(pf, task);
	else if (!pf->has_lone)
		perfetto_put_track(pf, UUID(UUID_LONE, 0), 0, "threads of unknown processes",
				   UINT32_MAX);
	pf->has_lone |= !task->user_renames;
	put_thread(pf, task);
}

/* ---- which track a call is on ---- */

static enum call_context context_of(struct perfetto *pf, const struct callsym *sym)
{
	if (!sym)
		return CALL_CONTEXT_TASK;
	if (VEC_RESERVE_ZEROED(pf->contexts, pf->context_cap, (size_t)sym->id + 1)) {
		pf->err = -ENOMEM;
		return CALL_CONTEXT_TASK;
	}
	if (!pf->contexts[sym->id])
		pf->contexts[sym->id] = (uint8_t)(call_context_entered(sym->name) + 1);
	return (enum call_context)(pf->contexts[sym->id] - 1);
}

static enum call_context context_of_track(uint32_t track)
{
	return track <= TRACK_TASK ? CALL_CONTEXT_TASK
				   : (enum call_context)((track - 2) % 2 + CALL_CONTEXT_SOFTIRQ);
}

uint64_t perfetto_call_uuid(const struct calltask *task, const struct call *call)
{
	bool is_soft = context_of_track(call->user) == CALL_CONTEXT_SOFTIRQ;

	if (call->user <= TRACK_TASK)
		return perfetto_task_uuid(task);
	return UUID(is_soft ? UUID_SOFTIRQ : UUID_HARDIRQ, (call->user - 2) / 2);
}

/* Whether @task may use the CPU's track for @context now; if so, it is named. */
static bool take_track(struct perfetto *pf, const struct calltask *task, uint32_t cpu,
		       enum call_context context)
{
	bool is_soft = context == CALL_CONTEXT_SOFTIRQ;
	struct cputracks *tracks = perfetto_cpu(pf, cpu);
	unsigned int idx = context - CALL_CONTEXT_SOFTIRQ;

	if (!tracks || (tracks->irqs[idx].open_cnt && tracks->irqs[idx].owner != task->id + 1))
		return false;
	tracks->irqs[idx].owner = task->id + 1;
	perfetto_name_cpu(pf, cpu);
	if (!tracks->irqs[idx].is_named)
		perfetto_put_track(pf, UUID(is_soft ? UUID_SOFTIRQ : UUID_HARDIRQ, cpu),
				   UUID(UUID_CPU, cpu),
				   is_soft ? "softirq, CPU " : "hard interrupt, CPU ", cpu);
	tracks->irqs[idx].is_named = true;
	return true;
}

/* A call without a beginning in the trace stays on the task's track, where its callees are, too. */
void perfetto_choose_track(struct perfetto *pf, const struct calltask *task, struct call *call)
{
	enum call_context context = call->has_entry ? context_of(pf, call->sym) : CALL_CONTEXT_TASK;

	call->user = TRACK_TASK;
	if (call->depth && task->calls[call->depth - 1].user)
		call->user = task->calls[call->depth - 1].user;
	if (context == CALL_CONTEXT_TASK)
		context = call_context_outermost(task, call);
	if (context != CALL_CONTEXT_TASK && context != context_of_track(call->user) &&
	    take_track(pf, task, call->cpu, context))
		call->user = TRACK_OF_CPU(call->cpu, context);
}

/* A call begins (+1) or ends (-1) on its track. */
void perfetto_count_open(struct perfetto *pf, const struct call *call, int change)
{
	enum call_context context = context_of_track(call->user);

	if (context != CALL_CONTEXT_TASK)
		pf->cpus[(call->user - 2) / 2]->irqs[context - CALL_CONTEXT_SOFTIRQ].open_cnt +=
			(uint32_t)change;
}
