/** The terminal inbox with 10,000 tasks: from a key to the last byte of the frame, on a terminal of its own. */
import { writeFileSync } from 'node:fs'
import { atMost, type Row } from './lib/hub-load.ts'
import { benchWorld, percentile } from './lib/node-world.ts'
import { fillStore } from './lib/stored-tasks.ts'
import { Terminal } from './lib/terminal.ts'

const STORED = 10_000
const KEYS = 40
/** A frame is written in one go; what comes after such a silence is something else. */
const SILENCE_MS = 40
/** The conversation of a row on which the selection rests is drawn by then. */
const RESTED_MS = 300
const SIZE = { columns: 120, rows: 40 }

export async function run(): Promise<Row[]> {
  await using world = benchWorld()
  const up = await world.startNode('alice')
  await world.svc('alice', 'stop')
  fillStore(world.dir('alice'), String(up['aid']), STORED)
  // what is said once was said
  writeFileSync(world.dir('alice', 'seen.json'), JSON.stringify({ seen: ['ways', 'stranger'] }))
  await world.startNode('alice')
  const started = performance.now()
  using terminal = new Terminal(`${world.node} ${world.programs.svc} tui`, world.env('alice'), SIZE)
  await terminal.sees('task number 9999')
  const first = performance.now() - started
  terminal.type('G')
  await terminal.sees(`${STORED}`)
  await terminal.settles(RESTED_MS)
  // now that all are here, to the last of them
  await terminal.key('G', RESTED_MS)
  const steps = await keyTimes(terminal, n => (n % 20 < 10 ? 'k' : 'j'))
  const pages = await keyTimes(terminal, n => (n % 20 < 10 ? '\u0002' : '\u0006'))
  const ends = await keyTimes(terminal, n => (n % 2 === 0 ? 'g' : 'G'))
  // the conversation of the last row comes a little later
  await terminal.settles(RESTED_MS)
  const before = terminal.written.length
  await terminal.settles(3_000)
  const idle = terminal.written.length - before
  terminal.type('q')
  await terminal.ended()
  return [
    atMost(`first rows of ${STORED} tasks on the terminal`, first, 'ms', 1_500),
    atMost('key to the last byte of the frame: a row further, p95', percentile(steps, 0.95), 'ms', 50),
    atMost('key to the last byte of the frame: a page further, p95', percentile(pages, 0.95), 'ms', 50),
    atMost('key to the last byte of the frame: to the other end, p95', percentile(ends, 0.95), 'ms', 50),
    atMost('bytes written while nothing changes, in three seconds', idle, 'bytes', 0),
  ]
}

async function keyTimes(terminal: Terminal, keyOf: (n: number) => string): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < KEYS; n++) {
    times.push((await terminal.key(keyOf(n), SILENCE_MS)).ms)
    await terminal.settles(RESTED_MS)
  }
  return times.slice(KEYS / 10)
}
