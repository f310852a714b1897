/** For tests: a hub as a process of its own, which can be killed at any moment and started again on its directory. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll } from 'vitest'
import { present } from '../../protocol/encoding/present.ts'
import { bundledProgram } from './bundle.ts'
import type { Target } from './hub.ts'

/** Signing times must lie above the floor that a start sets. */
const PAST_START_FLOOR_MS = 2500

export type HubChild = Target & {
  pid: number
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  kill(signal: NodeJS.Signals): void
  /** What it wrote to its log. */
  said(): string
}

export type HubChildOptions = {
  /** Arms one named point. */
  fault?: string
  failingFlush?: string
  env?: Record<string, string>
  /** More arguments for `serve`. */
  args?: string[]
  /** Another build than that of these sources. */
  program?: string | undefined
}

/** A hub that outlives a failed test would hold the streams of the whole run. */
const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts `svc-hub serve` on a directory. */
export async function startHubChild(directory: string, options: HubChildOptions = {}): Promise<HubChild> {
  const failing = options.failingFlush !== undefined || options.env !== undefined
  const child = spawn(
    process.execPath,
    [
      options.program ?? (await bundledProgram()),
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--data-dir',
      directory,
      ...(options.args ?? []),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...options.env,
        ...present({ SVC_FAULT: options.fault, SVC_FAULT_FLUSH: options.failingFlush }),
      },
    },
  )
  running.add(child)
  let said = ''
  child.stderr.on('data', chunk => {
    said += String(chunk)
    if (!failing) process.stderr.write(chunk)
  })
  child.once('exit', () => running.delete(child))
  const exited = once(child, 'exit').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const first = await lines.next()
  const second = await lines.next()
  const url = /http:\S+/.exec(String(first.value))?.[0]
  const aid = /hub AID (\S+)/.exec(String(second.value))?.[1]
  if (url === undefined || aid === undefined) throw new Error(`the hub did not start: ${String(first.value)}`)
  return {
    url,
    aid,
    clock: { now: () => Date.now() + PAST_START_FLOOR_MS, advance: () => undefined },
    pid: child.pid ?? 0,
    exited,
    kill: signal => void child.kill(signal),
    said: () => said,
  }
}

/** Runs one command of the program to its end. */
export async function runHub(
  args: string[],
  options: { cwd?: string; env?: Record<string, string>; program?: string | undefined } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const program = options.program ?? (await bundledProgram())
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...present({ cwd: options.cwd }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => {
    stdout += String(chunk)
  })
  child.stderr.on('data', chunk => {
    stderr += String(chunk)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}
