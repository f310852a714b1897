/**
 * For tests: a disk that fails under a hub for real. A small library stands between the program and the system's calls and
 * lets flushes fail or take longer, writes find no room, or copies to another folder what a power cut would leave: only what was flushed.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { present } from '../../protocol/encoding/present.ts'

export const hasCompiler = process.platform === 'linux' && spawnSync('cc', ['--version']).status === 0

const SOURCE = `
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long flushes;

/* The path of an open file below FAULT_HOME, relative to it. */
static int below(int fd, char *path, const char **relative) {
  const char *home = getenv("FAULT_HOME");
  char link[64];
  if (home == NULL) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  if (strncmp(path, home, strlen(home)) != 0) return 0;
  *relative = path + strlen(home);
  return 1;
}

static void make_parents(char *path) {
  for (char *at = path + 1; *at; at++)
    if (*at == '/') { *at = 0; mkdir(path, 0700); *at = '/'; }
}

/* The copy appears as a whole, because the process may be killed meanwhile. */
static void copy(const char *from, const char *relative) {
  const char *shadow = getenv("FAULT_SHADOW");
  char to[PATH_MAX * 2], part[PATH_MAX * 2];
  static char piece[65536];
  snprintf(to, sizeof to, "%s%s", shadow, relative);
  snprintf(part, sizeof part, "%s.part", shadow);
  make_parents(to);
  int in = open(from, O_RDONLY), out = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ssize_t got;
  while (in >= 0 && out >= 0 && (got = read(in, piece, sizeof piece)) > 0)
    if (REAL(write)(out, piece, got) != got) break;
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  rename(part, to);
}

/* Names of a flushed folder: those that are new come over with their content, those that are gone go. */
static void copy_names(const char *path, const char *relative) {
  char from[PATH_MAX * 2], name[PATH_MAX * 2], to[PATH_MAX * 3];
  struct stat known;
  DIR *folder = opendir(path);
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL; ) {
    if (entry->d_type != DT_REG) continue;
    snprintf(from, sizeof from, "%s/%s", path, entry->d_name);
    snprintf(name, sizeof name, "%s/%s", relative, entry->d_name);
    snprintf(to, sizeof to, "%s%s", getenv("FAULT_SHADOW"), name);
    if (stat(to, &known) != 0) copy(from, name);
  }
  closedir(folder);
  snprintf(to, sizeof to, "%s%s", getenv("FAULT_SHADOW"), relative);
  folder = opendir(to);
  if (folder == NULL) return;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL; ) {
    if (entry->d_type != DT_REG) continue;
    snprintf(from, sizeof from, "%s/%s", path, entry->d_name);
    snprintf(name, sizeof name, "%s/%s", to, entry->d_name);
    if (stat(from, &known) != 0) unlink(name);
  }
  closedir(folder);
}

static int flush(int fd, int (*real)(int)) {
  char path[PATH_MAX];
  const char *relative, *failing = getenv("FAULT_FLUSH_FROM");
  if (!below(fd, path, &relative)) return real(fd);
  const char *under = getenv("FAULT_FLUSH_UNDER");
  int meant = under == NULL || strncmp(relative, under, strlen(under)) == 0;
  if (failing != NULL && meant && __sync_add_and_fetch(&flushes, 1) >= atol(failing)) { errno = EIO; return -1; }
  const char *delay = getenv("FAULT_FLUSH_DELAY_US");
  if (delay != NULL) usleep(atol(delay));
  int result = real(fd);
  if (result == 0 && getenv("FAULT_SHADOW") != NULL && strstr(relative, "-shm") == NULL) {
    struct stat kind;
    pthread_mutex_lock(&lock);
    if (fstat(fd, &kind) == 0 && S_ISDIR(kind.st_mode)) copy_names(path, relative);
    else copy(path, relative);
    pthread_mutex_unlock(&lock);
  }
  return result;
}

int fsync(int fd) { return flush(fd, REAL(fsync)); }
int fdatasync(int fd) { return flush(fd, REAL(fdatasync)); }

/* Full while the file FAULT_FULL exists and nobody has given up the reserve. Pipes are not part of the disk. */
static int full(int fd) {
  char path[PATH_MAX], reserve[PATH_MAX * 2];
  const char *relative, *mark = getenv("FAULT_FULL");
  if (mark == NULL || access(mark, F_OK) != 0 || !below(fd, path, &relative)) return 0;
  snprintf(reserve, sizeof reserve, "%s/reserve", getenv("FAULT_HOME"));
  if (access(reserve, F_OK) != 0) return 0;
  errno = ENOSPC;
  return 1;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  return full(fd) ? -1 : REAL(write)(fd, bytes, count);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  return full(fd) ? -1 : REAL(pwrite)(fd, bytes, count, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  return full(fd) ? -1 : REAL(pwrite64)(fd, bytes, count, at);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  return full(fd) ? -1 : REAL(pwritev)(fd, parts, count, at);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  return full(fd) ? -1 : REAL(pwritev64)(fd, parts, count, at);
}
`

let built: string | undefined

/** Path of the library, built once a run. */
function library(): string {
  if (built !== undefined) return built
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-faults-'))
  const source = join(folder, 'faults.c')
  built = join(folder, 'faults.so')
  writeFileSync(source, SOURCE)
  execFileSync('cc', ['-O1', '-shared', '-fPIC', '-w', '-o', built, source, '-ldl', '-lpthread'])
  return built
}

export type DiskFaults = {
  /** From this flush of the directory's files on, each fails with EIO. */
  failFlushFrom?: number
  /** Only flushes of files in this folder of the directory count. */
  failFlushUnder?: string
  /** Each flush takes so much longer. */
  flushDelayMs?: number
  /** While this file exists, writes find no room until the hub gives up its reserve. */
  fullWhile?: string
  /** Gets what was flushed, and nothing else. */
  shadow?: string
}

/** Environment that puts the library under a program that works on `directory`. */
export function faultyDisk(directory: string, faults: DiskFaults): Record<string, string> {
  return {
    LD_PRELOAD: library(),
    FAULT_HOME: directory,
    ...present({
      FAULT_FLUSH_FROM: faults.failFlushFrom?.toString(),
      FAULT_FLUSH_UNDER: faults.failFlushUnder && `/${faults.failFlushUnder}/`,
      FAULT_FLUSH_DELAY_US:
        faults.flushDelayMs === undefined ? undefined : String(faults.flushDelayMs * 1000),
      FAULT_FULL: faults.fullWhile,
      FAULT_SHADOW: faults.shadow,
    }),
  }
}
