/*
 * The protocol of claims, leases and fences: two workers (gateways), one run with a few tasks, one store, and a person who sends a command.
 * test/claims-model.test.ts makes a verifier of it with spin, and runs it. After
 * "@code" is the file and the name of what a transition is in the code.
 *
 * The run has a step before each task (the task begins: now it may be done) and one after it. Behind the last task it waits for a command;
 * the step that consumes the command ends the run. Each atomic block that touches the store is one transaction.
 *
 * What can happen at any point: a worker is killed. A worker stands still (SIGSTOP) while its lease ends, and goes on later: it is not
 * scheduled, and Time ends the lease. The store refuses a statement. The store commits, and its answer is lost. The store is away for longer than a
 * lease: then all leases have ended, also those of the living.
 *
 * A task is a call. Its record is in the audit log before it leaves, and gets the outcome. A call in flight goes on where its worker loses the run.
 * Where its worker is dead, or looks so, the holder of the run suspends it. Then the late outcome decides, or an operator where none can come.
 *
 * What is checked in every reachable state:
 * - No task is begun by two workers that both hold the current fence. No task is begun before its step is durable. See `begin`.
 * - No worker takes the run of a living one that stood not still, and so counts no death. See `claim`.
 * - No step is committed twice, and none is undone. See `apply`.
 * - No run is lost: each execution reaches its end, where the run has ended or all workers are dead. The operator decides about calls of dead
 *   workers alone, so no run stays suspended for a call of a living one. Spin reports another end as an invalid
 *   end state; `goes_on` excludes an execution that never reaches the end.
 *
 * A fault that the test plants with -D must be found: NO_FENCE (a write does not compare fences), NO_TAKEOVER (no one claims a run whose
 * lease has ended), NO_WAKE (a release looks for no command), BEGIN_EARLY (a task begins while its step is being written), ANY_LEASE (a
 * run is claimed while its lease runs, with the same fence), NO_GRACE (leases count at once when the store is back), ABORT_LOST (a worker that
 * lost the run aborts its call in flight), NO_TELL (no one tells a suspended run of a late outcome).
 */

#ifndef TASKS
#define TASKS 2
#endif
/* How often each fault happens at most, until there are none (Fate). Without a bound, no execution would have to end. */
#ifndef REFUSALS
#define REFUSALS 1
#endif
#ifndef PAUSES
#define PAUSES 1
#endif
#ifndef KILLS
#define KILLS 1
#endif

#ifndef OUTAGES
#define OUTAGES 1
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

bool suspended = false;

/* The records of the tasks in the audit log: @code idempotency-keys.ts createIdempotencyKeys */
#define FREE 0
#define IN_FLIGHT 1
#define OUTCOME 2
byte record[TASKS];
byte caller[TASKS];
bool told[TASKS]; /* a command with the outcome, or with the decision of an operator */

/* The workers. A worker that holds nothing has fence 0. */
byte held[2];
bool dead[2];
bool steady = true; /* the store has taken writes for a whole lease: @code store-steadiness.ts StoreSteadiness */

/* What is left of the faults. */
byte refusals = REFUSALS;
byte pauses = PAUSES;
byte kills = KILLS;
byte outages = OUTAGES;

/* Only to check. */
byte committed_by[LAST + 2]; /* the fence that committed a step */
byte begun_with[TASKS];      /* the last fence with which a task was begun, and who began it */
byte begun_by[TASKS];

bool stood[2]; /* it stood still at some time, so its chain may look dead */
bool still = false; /* the lease that ended is of a worker that stood still */

/* The holder is alive, and works on the run. */
#define is_held (owner != NONE && !dead[owner] && held[owner] == fence)
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
#elif defined(NO_GRACE)
#define claimable (!ended && ((owner == NONE && due) || (owner != NONE && expired)))
#else
#define claimable (!ended && ((owner == NONE && due) || (owner != NONE && expired && (owner == me || steady)))) /* @code run-claim-store.ts claimRuns */
#endif

/* @code run-claim-store.ts claimRuns */
inline claim() {
#ifndef ANY_LEASE
  assert(!is_held || still);
#endif
  still = false;
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

/* A command to the run: @code until-stored.ts UnsavedOutcomes */
inline tell(task) {
#ifndef NO_TELL
  told[task] = true;
  due = (owner == NONE -> true : due)
#else
  skip
#endif
}

/* The call goes on record, and leaves: @code run-records.ts ClaimedRun */
inline begin() {
  assert(position >= next);
  if
  :: held[me] == fence ->
    assert(begun_with[next / 2] != fence || begun_by[next / 2] == me);
    assert(held[1 - me] != fence);
    begun_with[next / 2] = fence;
    begun_by[next / 2] = me;
    if
    :: record[next / 2] == FREE -> record[next / 2] = IN_FLIGHT; caller[next / 2] = me
    :: else
    fi
  :: else /* It stood still, and another worker took the run over. The audit log keeps its call from being sent twice. */
  fi
}

active [2] proctype Worker() {
  byte me = _pid;
  byte next;

idle:
  held[me] = 0;
  do
  :: atomic { claimable -> claim(); held[me] = fence; next = position; suspended = false; break }
  :: atomic { claimable && refusals > 0 -> refusals--; claim() } /* Its answer is lost: the worker does not renew this lease. */
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  :: ended -> goto gone
  od;

holds:
  if
  :: next < LAST && next % 2 == 1 -> goto calls
  :: next < LAST && next % 2 == 0 -> goto step
  :: else -> goto waits
  fi;

calls:
  /* A call is in flight here or at another worker, or its outcome is known: @code call-tasks.ts createCallTasks */
  do
  :: atomic { record[next / 2] == FREE -> begin(); if :: record[next / 2] == FREE -> goto idle :: else fi }
  :: atomic { record[next / 2] == IN_FLIGHT && caller[next / 2] == me -> record[next / 2] = OUTCOME }
  :: record[next / 2] == OUTCOME || told[next / 2] -> goto step
  :: record[next / 2] == IN_FLIGHT && !told[next / 2] && caller[next / 2] != me && (dead[caller[next / 2]] || stood[caller[next / 2]]) -> goto suspend
  :: atomic { owner == me && fence == held[me] && expired -> expired = false; still = false }
#ifdef ABORT_LOST
  :: atomic { fence != held[me] -> goto idle }
#else
  :: atomic { fence != held[me] && record[next / 2] == IN_FLIGHT && caller[next / 2] != me -> goto idle }
#endif
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  od;

suspend:
  do
  :: atomic { may_write -> owner = NONE; suspended = true; due = told[next / 2]; goto idle } /* @code run-write-store.ts releaseRuns */
  :: atomic { !may_write -> goto idle }
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  od;

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
  /* With the record of the call that begins, in one transaction: @code run-executor.ts RunExecutor */
  :: atomic { may_write && next < LAST && next % 2 == 1 && record[next / 2] == FREE -> apply(); begin(); break }
  :: atomic { may_write && refusals > 0 -> refusals--; apply() } /* Its answer is lost: it is written again. */
  :: atomic { refusals > 0 -> refusals-- }
  :: atomic { !may_write -> goto lost } /* @code run-write-store.ts writeSteps */
  :: atomic { owner == me && fence == held[me] && expired -> expired = false; still = false } /* @code run-claim-store.ts renewLeases */
  :: atomic { fence != held[me] -> goto lost } /* The answer of a renewal lacks the run: @code run-claim-store.ts renewLeases */
  :: atomic { kills > 0 && !is_over -> kills--; dead[me] = true; goto gone }
  od;
  if
  :: next > LAST -> goto idle
  :: else -> goto holds
  fi;

lost:
  /* The outcome of its call is not in the state of the run: @code until-stored.ts UnsavedOutcomes */
  atomic {
    if
    :: next <= LAST && next % 2 == 0 && caller[next / 2 - 1] == me -> tell(next / 2 - 1)
    :: else
    fi
  };
  goto idle;

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

/* @code run-command-store.ts queueCommands */
active proctype Person() {
  atomic {
    if
    :: !ended -> queued = true;
      if
      :: owner == NONE && !suspended -> due = true /* @code run-command-store.ts wakeRuns */
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
  :: atomic { outages > 0 -> outages--; expired = (owner != NONE -> true : expired); steady = false }
  /* A lease later the holder has renewed, unless it stands still. */
  :: atomic { !steady && !(is_held && expired && !still) -> steady = true }
  :: atomic { is_held && expired && !still && pauses > 0 -> pauses--; still = true; stood[owner] = true }
  :: atomic { owner != NONE && !expired && (dead[owner] || held[owner] != fence) -> expired = true }
  :: atomic { owner != NONE && !expired && !dead[owner] && held[owner] == fence && pauses > 0 -> pauses--; expired = true; still = true; stood[owner] = true }
  :: is_over -> break
  od
}

/* People decide about a call whose worker is dead: @code lost-run.ts endAbandoned */
active proctype Operator() {
  do
  :: atomic { suspended && owner == NONE && !told[position / 2] && dead[caller[position / 2]] -> told[position / 2] = true; due = true }
  :: is_over -> break
  od
}

/* No fault has to happen: from any point on, none does. So no fault can hide that an execution is stuck. */
active proctype Fate() {
  atomic { refusals = 0; pauses = 0; kills = 0; outages = 0 }
}

ltl goes_on { <> is_over }
