/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A memory that reorders, for the models in this folder.
 *
 * A store waits in its thread and reaches memory at any later moment, in any
 * order, but one thread's stores to one word stay in order. A load may be
 * satisfied earlier than its place in the program: it may use a value that was
 * read ahead. These operations restrict that:
 *
 *   STORE_RELEASE   reaches memory after every store before it
 *   LOAD_ACQUIRE    no load after it uses a value that was read ahead of it
 *   FENCE           both: all stores have arrived, no value read ahead is used
 *
 * This memory is weaker than x86, and as weak as arm64 is for these protocols.
 * It is multi-copy atomic, as arm64 and riscv are and PowerPC is not: a store
 * reaches all other threads at once. It does not satisfy a load later than its
 * place; a model that needs such a load writes both orders out.
 *
 * A model defines THREADS, WORDS (2 to 6) and AHEAD, the mask of words that
 * may be read ahead, and then includes this file.
 */
#define BIT(word) (1 << (word))

typedef view {
	byte late[WORDS];	/* stores that have not arrived */
	byte need[WORDS];	/* the stores that must arrive before each */
	byte held;		/* bits of the words in @late */
	byte early[WORDS];	/* values that were read ahead */
	byte seen;		/* bits of the words in @early */
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

/* The memory's own steps: one store arrives, one word is read ahead. */
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
