/*
 * A pool of waiting threads, shared by all callers and grown on demand. A call puts its task on a
 * list, works on it itself, and waits for the helpers that took it up; if none is free it has done
 * the work alone. A forked child starts with an empty pool, since threads do not survive a fork.
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <signal.h>

#include "kernel.h"

struct task {
    void (*work)(void *);
    void *argument;
    int wanted, running; /* helpers still to come, helpers at work */
    struct task *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t offered = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static struct task *tasks;
static int helpers;

static void remove_task(struct task *task) {
    for (struct task **link = &tasks; *link; link = &(*link)->next)
        if (*link == task) {
            *link = task->next;
            return;
        }
}

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (!tasks) pthread_cond_wait(&offered, &mutex);
        struct task *task = tasks;
        if (--task->wanted == 0) remove_task(task);
        task->running++;
        pthread_mutex_unlock(&mutex);
        task->work(task->argument);
        pthread_mutex_lock(&mutex);
        if (--task->running == 0) pthread_cond_broadcast(&finished);
    }
    return NULL;
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&mutex); }

static void after_fork_in_child(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&offered, NULL);
    pthread_cond_init(&finished, NULL);
    tasks = NULL;
    helpers = 0;
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Signals belong to the application's threads. */
static void add_helper(void) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&thread, NULL, help, NULL) == 0) {
        pthread_detach(thread);
        helpers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void run_on_threads(int threads, void (*work)(void *), void *argument) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct task task = {.work = work, .argument = argument, .wanted = threads - 1};
    if (threads <= 1) {
        work(argument);
        return;
    }
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&mutex);
    while (helpers < threads - 1) {
        const int before = helpers;
        add_helper();
        if (helpers == before) break;
    }
    task.next = tasks;
    tasks = &task;
    for (int i = 1; i < threads; i++) pthread_cond_signal(&offered);
    pthread_mutex_unlock(&mutex);

    work(argument);

    pthread_mutex_lock(&mutex);
    remove_task(&task);
    while (task.running) pthread_cond_wait(&finished, &mutex);
    pthread_mutex_unlock(&mutex);
}
