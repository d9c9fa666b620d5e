/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory that reorders, for the models in this folder.
 *
 * A store waits in its thread and reaches memory at any later moment, in any
 * order, but one thread's stores to one word stay in order. A load may be
 * satisfied earlier than its place in the program: a value that was looked at
 * beforehand may be used. What takes that liberty away again:
 *
 *   STORE_RELEASE   reaches memory after every store before it
 *   LOAD_ACQUIRE    no load after it uses what was looked at before it
 *   FENCE           both: all stores have arrived, nothing looked at is used
 *
 * That is weaker than x86, and as weak as arm64 and the Linux kernel's model
 * are in what these protocols use. A load that is satisfied later than its
 * place is not in here; a model that needs it writes both orders out.
 *
 * A model defines THREADS, WORDS (2 to 6) and AHEAD, the mask of words that
 * may be looked at beforehand, then includes this.
 */
#define BIT(word) (1 << (word))

typedef view {
	byte late[WORDS];	/* stores on their way, */
	byte need[WORDS];	/* which others must arrive before each, */
	byte held;		/* which there are */
	byte early[WORDS];	/* values looked at beforehand, */
	byte seen;		/* which there are */
};

byte mem[WORDS];
view views[THREADS];

inline store(me, word, value)
{
	atomic {
		!(views[me].held & BIT(word));
		views[me].late[word] = value;
		views[me].need[word] = 0;
		views[me].held = views[me].held | BIT(word);
		views[me].seen = views[me].seen & (255 - BIT(word));
	}
}

inline store_release(me, word, value)
{
	atomic {
		!(views[me].held & BIT(word));
		views[me].late[word] = value;
		views[me].need[word] = views[me].held;
		views[me].held = views[me].held | BIT(word);
		views[me].seen = views[me].seen & (255 - BIT(word));
	}
}

inline load(me, word, into)
{
	atomic {
		if
		:: views[me].held & BIT(word) -> into = views[me].late[word]
		:: !(views[me].held & BIT(word)) ->
			into = mem[word];
			views[me].seen = views[me].seen & (255 - BIT(word))
		:: !(views[me].held & BIT(word)) && (views[me].seen & BIT(word)) ->
			into = views[me].early[word]
		fi
	}
}

inline load_acquire(me, word, into)
{
	atomic {
		load(me, word, into);
		views[me].seen = 0;
	}
}

inline fence(me)
{
	atomic {
		!views[me].held;
		views[me].seen = 0;
	}
}

/* A read-modify-write that acquires when it succeeds and orders nothing when it does not. */
inline try_lock(me, word, got)
{
	atomic {
		!(views[me].held & BIT(word));
		if
		:: mem[word] -> got = 0
		:: else ->
			mem[word] = 1;
			views[me].seen = 0;
			got = 1
		fi
	}
}

/* The memory's own steps: one store arrives, one word is looked at beforehand. */
#define ARRIVE(w)							\
	:: atomic {							\
		(views[_pid].held & BIT(w)) &&				\
			!(views[_pid].held & views[_pid].need[w]) ->	\
		mem[w] = views[_pid].late[w];				\
		views[_pid].late[w] = 0;				\
		views[_pid].need[w] = 0;				\
		views[_pid].held = views[_pid].held & (255 - BIT(w))	\
	}

#define LOOK(w)								\
	:: atomic {							\
		(AHEAD & BIT(w)) && !(views[_pid].held & BIT(w)) &&	\
			!((views[_pid].seen & BIT(w)) &&		\
			  views[_pid].early[w] == mem[w]) ->		\
		views[_pid].early[w] = mem[w];				\
		views[_pid].seen = views[_pid].seen | BIT(w)		\
	}

active [THREADS] proctype memory()
{
	do
	ARRIVE(0) LOOK(0)
	ARRIVE(1) LOOK(1)
#if WORDS > 2
	ARRIVE(2) LOOK(2)
#endif
#if WORDS > 3
	ARRIVE(3) LOOK(3)
#endif
#if WORDS > 4
	ARRIVE(4) LOOK(4)
#endif
#if WORDS > 5
	ARRIVE(5) LOOK(5)
#endif
	od
}
