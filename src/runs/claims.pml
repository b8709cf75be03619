/*
 * The protocol of claims, leases and fences: two workers (gateways), one run with a few tasks, one store, and a person who sends a command.
 * test/claims-model.test.ts makes a verifier of it with spin, and runs it. After
 * "@code" is the file and the name of what a transition is in the code.
 *
 * The run has a step before each task (the task begins: now it may be done) and one after it. Behind the last task it waits for a command;
 * the step that consumes the command ends the run. Each atomic block that touches the store is one transaction.
 *
 * What can happen at any point: a worker is killed. A worker stands still (SIGSTOP) while its lease ends, and goes on later: it is not
 * scheduled, and Time ends the lease. The store refuses a statement. The store commits, and its answer is lost.
 *
 * What is checked in every reachable state:
 * - No task is begun by two workers that both hold the current fence. No task is begun before its step is durable. See `begin`.
 * - No step is committed twice, and none is undone. See `apply`.
 * - No run is lost: each execution reaches its end, where the run has ended or all workers are dead. Spin reports another end as an invalid
 *   end state; `goes_on` excludes an execution that never reaches the end.
 *
 * A fault that the test plants with -D must be found: NO_FENCE (a write does not compare fences), NO_TAKEOVER (no one claims a run whose
 * lease has ended), NO_WAKE (a release looks for no command), BEGIN_EARLY (a task begins while its step is being written), ANY_LEASE (a
 * run is claimed while its lease runs, with the same fence).
 */

#ifndef TASKS
#define TASKS 2
#endif
/* How often each fault happens at most, until there are none (Fate). Without a bound, no execution would have to end. */
#ifndef REFUSALS
#define REFUSALS 2
#endif
#ifndef PAUSES
#define PAUSES 2
#endif
#ifndef KILLS
#define KILLS 2
#endif

#define NONE 2
/* Steps: 2 * task + 1 is "the task begins", 2 * task + 2 "the task has ended". */
#define LAST (2 * TASKS)

/* The row of the run, its state and its commands: @code run-tables.ts RunClaimTable */
byte owner = NONE;
byte fence = 0;
bool due = true;      /* due_at <= now, of a run that no one holds: @code run-creation-store.ts createRunsIn */
bool expired = false; /* due_at <= now, of a run that is held */
byte position = 0;    /* how far the durable state is */
bool queued = false;  /* a command that is not consumed */
bool ended = false;

/* The workers. A worker that holds nothing has fence 0. */
byte held[2];
bool dead[2];

/* What is left of the faults. */
byte refusals = REFUSALS;
byte pauses = PAUSES;
byte kills = KILLS;

/* Only to check. */
byte committed_by[LAST + 2]; /* the fence that committed a step */
byte begun_with[TASKS];      /* the last fence with which a task was begun, and who began it */
byte begun_by[TASKS];

#define all_dead (dead[0] && dead[1])
#define is_over (ended || all_dead)

#ifdef NO_FENCE
#define may_write (!ended)
#else
#define may_write (owner != NONE && fence == held[me]) /* @code run-write-store.ts writeSteps */
#endif

#ifdef NO_TAKEOVER
#define claimable (!ended && owner == NONE && due)
#elif defined(ANY_LEASE)
#define claimable (!ended && (owner != NONE || due))
#else
#define claimable (!ended && ((owner == NONE && due) || (owner != NONE && expired))) /* @code run-claim-store.ts claimRuns */
#endif

/* @code run-claim-store.ts claimRuns */
inline claim() {
  owner = me;
#ifndef ANY_LEASE
  fence++;
#else
  fence = (fence == 0 -> 1 : fence);
#endif
  due = false;
  expired = false
}

/* A write that is not refused: @code run-write-store.ts writeHeld */
inline apply() {
  /* A write that is written again, because its answer was lost, changes nothing. */
  assert(next == position + 1 || (next == position && committed_by[next] == held[me]));
  position = next;
  committed_by[next] = held[me];
  if
  :: next > LAST -> ended = true; queued = false; owner = NONE /* @code run-command-store.ts consumeCommands */
  :: else
  fi
}

/* @code run-write-store.ts releaseRuns */
inline release() {
  owner = NONE;
#ifdef NO_WAKE
  due = false
#else
  due = queued
#endif
}

/* The task is done: @code run-records.ts ClaimedRun */
inline begin() {
  assert(position >= next);
  if
  :: held[me] == fence ->
    assert(begun_with[next / 2] != fence || begun_by[next / 2] == me);
    assert(held[1 - me] != fence);
    begun_with[next / 2] = fence;
    begun_by[next / 2] = me
  :: else /* It stood still, and another worker took the run over. The audit log keeps its call from being sent twice. */
  fi
}

active [2] proctype Worker() {
  byte me = _pid;
  byte next;

idle:
  held[me] = 0;
  do
  :: atomic { claimable -> claim(); held[me] = fence; next = position; break }
  :: atomic { claimable && refusals > 0 -> refusals--; claim() } /* Its answer is lost: the worker does not renew this lease. */
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  :: ended -> goto gone
  od;

holds:
  if
  :: next < LAST -> goto step
  :: else -> goto waits
  fi;

step:
  /* Committed before a task begins, and after it has ended. */
  next++;
#ifdef BEGIN_EARLY
  if
  :: next < LAST && next % 2 == 1 -> begin()
  :: else
  fi;
#endif
  do
  :: atomic { may_write -> apply(); break }
  :: atomic { may_write && refusals > 0 -> refusals--; apply() } /* Its answer is lost: it is written again. */
  :: atomic { refusals > 0 -> refusals-- }
  :: atomic { !may_write -> goto idle } /* lost: @code run-write-store.ts writeSteps */
  :: atomic { owner == me && fence == held[me] && expired -> expired = false } /* @code run-claim-store.ts renewLeases */
  :: atomic { fence != held[me] -> goto idle } /* The answer of a renewal lacks the run: @code run-claim-store.ts renewLeases */
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  od;
  if
  :: next > LAST -> goto idle
  :: next < LAST && next % 2 == 1 -> atomic { begin() }
  :: else
  fi;
  goto holds;

waits:
  /* Looks for commands (@code run-command-store.ts queuedCommands), and consumes one or lets go. */
  if
  :: queued -> goto step
  :: !queued
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  fi;
  do
  :: atomic { may_write -> release(); goto idle }
  :: atomic { may_write && refusals > 0 -> refusals--; release() } /* Its answer is lost: written again, it is lost. */
  :: atomic { refusals > 0 -> refusals-- }
  :: atomic { !may_write -> goto idle }
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  od;

gone:
  skip
}

/* @code run-command-store.ts queueCommand */
active proctype Person() {
  atomic {
    if
    :: !ended -> queued = true;
      if
      :: owner == NONE -> due = true /* @code run-command-store.ts wakeRuns */
      :: else
      fi
    :: else
    fi
  }
}

/*
 * A lease ends where its holder is dead, or does not know that it holds the run: it renews what it works on (@code run-claim-store.ts
 * renewLeases). The lease of another holder ends where it stands still for too long.
 */
active proctype Time() {
  do
  :: atomic { owner != NONE && !expired && (dead[owner] || held[owner] != fence) -> expired = true }
  :: atomic { owner != NONE && !expired && !dead[owner] && held[owner] == fence && pauses > 0 -> pauses--; expired = true }
  :: is_over -> break
  od
}

/* No fault has to happen: from any point on, none does. So no fault can hide that an execution is stuck. */
active proctype Fate() {
  atomic { refusals = 0; pauses = 0; kills = 0 }
}

ltl goes_on { <> is_over }
