/** A command run in the process of a test, in a folder of its own. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Io } from './io.ts'
import { main } from './main.ts'

export type Said = { code: number; out: string; err: string }

export async function runIn(
  folder: string,
  argv: readonly string[],
  env: Record<string, string> = {},
  over: Partial<Io> = {},
): Promise<Said> {
  const said = { out: '', err: '' }
  const io: Io = {
    env: { HOME: folder, SVC_HOME: folder, SVC_RUNTIME_DIR: join(folder, 'run'), ...env },
    cwd: folder,
    now: Date.now,
    stdin: Readable.from([]) as never,
    out: text => {
      said.out += text
    },
    output: { taken: async () => undefined, lost: new AbortController().signal, isNull: false },
    err: text => {
      said.err += text
    },
    hints: false,
    onTerminal: false,
    columns: 80,
    program: 'svc',
    asCalled: text => text,
    ...over,
  }
  return { code: await main(io, argv), ...said }
}

/** What a shell has against a line of ours, where each `<…>` stands for a word; empty where it has nothing. */
export function shellFault(line: string): string {
  const filled = line.replace(/<[^<> ]*>/g, 'x')
  return spawnSync('bash', ['-n', '-c', filled], { encoding: 'utf8' }).stderr
}
