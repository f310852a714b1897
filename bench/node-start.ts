/** The command line beside an empty runtime, in turn, so that both see the same machine. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atMost, median, type Row } from './lib/hub-load.ts'
import { benchWorld } from './lib/node-world.ts'

const ROUNDS = 21
const RATIO_MAX = 1.8

export async function run(): Promise<Row[]> {
  await using world = benchWorld()
  await world.startNode('alice')
  const folder = mkdtempSync(join(tmpdir(), 'svc-empty-'))
  const empty = join(folder, 'empty.mjs')
  writeFileSync(empty, '')
  const env = world.env('alice')
  const time = (...args: string[]) => {
    const started = performance.now()
    const ran = spawnSync(world.node, args, { env })
    if (ran.status !== 0) throw new Error(String(ran.stderr))
    return performance.now() - started
  }
  const rows = ['version', 'status', 'inbox'].map(command => {
    const ratios: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const base = time(empty)
      ratios.push(time(world.programs.svc, command) / base)
    }
    return atMost(`svc ${command} ÷ empty node`, median(ratios), 'times', RATIO_MAX)
  })
  rmSync(folder, { recursive: true })
  return rows
}
