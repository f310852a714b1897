/**
 * What the C library reads once at the start of a node, so that buffers and what the engine has freed go back to the
 * system; without it some 3 MiB stay. Another C library does not know the names.
 */
const BYTES = String(64 * 1024)

export const leanMemory: Readonly<Record<string, string>> = {
  MALLOC_TRIM_THRESHOLD_: BYTES,
  MALLOC_MMAP_THRESHOLD_: BYTES,
}

/** They are the node's own: no program that it starts is given them. */
export function forgetLeanMemory(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(leanMemory)) if (env[name] === value) delete env[name]
}
