/** The command line beside an empty runtime, in turn, so that both see the same machine. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atMost, median, type Row } from './lib/hub-load.ts'
import { benchWorld } from './lib/node-world.ts'

const ROUNDS = 21
const RATIO_MAX = 1.8
/** A coding agent runs it at each of its events. */
const HOOK_RATIO_MAX = 2
const HOOK_INPUT = JSON.stringify({ session_id: 'bench', hook_event_name: 'PostToolUse' })
const NPX_ROUNDS = 7
const NPX_MORE_MS_MAX = 200

export async function run(): Promise<Row[]> {
  await using world = benchWorld()
  await world.startNode('alice')
  const folder = mkdtempSync(join(tmpdir(), 'svc-empty-'))
  const empty = join(folder, 'empty.mjs')
  writeFileSync(empty, '')
  const env = world.env('alice')
  const time = (args: string[], input = '') => {
    const started = performance.now()
    const ran = spawnSync(world.node, args, { env, input })
    if (ran.status !== 0) throw new Error(String(ran.stderr))
    return performance.now() - started
  }
  const beside = (command: string, most: number, input?: string) => {
    const ratios: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const base = time([empty])
      ratios.push(time([world.programs.svc, ...command.split(' ')], input) / base)
    }
    return atMost(`svc ${command} ÷ empty node`, median(ratios), 'times', most)
  }
  const rows = [
    ...['version', 'status', 'inbox'].map(command => beside(command, RATIO_MAX)),
    beside('hook inbox --format claude', HOOK_RATIO_MAX, HOOK_INPUT),
  ]
  rmSync(folder, { recursive: true })
  return [...rows, npxRow()]
}

/** `npx svc` in a home that npm has never seen, beside npm's own start and the launcher. */
function npxRow(): Row {
  const cwd = new URL('..', import.meta.url).pathname
  const time = (program: string, ...args: string[]) => {
    const HOME = mkdtempSync(join(tmpdir(), 'svc-npx-'))
    const started = performance.now()
    const ran = spawnSync(program, args, { cwd, env: { PATH: process.env['PATH'], HOME } })
    if (ran.status !== 0) throw new Error(String(ran.stderr))
    const ms = performance.now() - started
    rmSync(HOME, { recursive: true })
    return ms
  }
  const more = Array.from(
    { length: NPX_ROUNDS },
    () =>
      time('npx', 'svc', 'version') -
      time('npx', '-c', 'true') -
      time('node', join('bin', 'svc.js'), 'version'),
  )
  return atMost('npx svc − npm − the launcher, in a new home', median(more), 'ms', NPX_MORE_MS_MAX)
}
