/**
 * A large hub moved from a file to a database, and back: how long nobody is served, from its stop to the first answer of the
 * next start. SVC_BENCH_AGENTS and SVC_BENCH_ENVELOPES say how large; a tenth of the full size, or SVC_BENCH_FULL=1.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PostgresServer } from '../hub/testing/postgres-server.ts'
import { endedWith } from './lib/ended-with.ts'
import { atMost, type Row, startHubProcess } from './lib/hub-load.ts'
import { fillHub } from './lib/hub-store-items.ts'

const FULL = process.env['SVC_BENCH_FULL'] === '1'
const sized = (name: string, whole: number): number =>
  Number(process.env[`SVC_BENCH_${name}`] ?? (FULL ? whole : whole / 10))
const AGENTS = sized('AGENTS', 100_000)
const ENVELOPES = sized('ENVELOPES', 1_000_000)
const PROGRAM = fileURLToPath(new URL('../hub/dist/svc-hub.js', import.meta.url))

const told = (name: string, seconds: number): Row =>
  atMost(`${name}, ${AGENTS} agents and ${ENVELOPES} envelopes`, seconds, 's', Number.POSITIVE_INFINITY)
const secondsSince = (ms: number): number => (performance.now() - ms) / 1000

/** Seconds of the move itself, and until a hub answers after it. */
async function move(directory: string, words: string[], flags: string[]): Promise<[number, number]> {
  const startedMs = performance.now()
  execFileSync(process.execPath, [PROGRAM, 'migrate', ...words, '--data-dir', directory])
  const moved = secondsSince(startedMs)
  const hub = await startHubProcess({ built: true, directory, flags, keeps: true })
  const answered = secondsSince(startedMs)
  await hub.stop()
  return [moved, answered]
}

export async function run(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-hub-moving-'))
  const directory = join(folder, 'hub')
  const server = await PostgresServer.start({ settings: { max_wal_size: '4GB' } })
  endedWith(() => server.stop())
  try {
    await fillHub(directory, { agents: AGENTS, envelopes: ENVELOPES })
    const at = ['--store', server.url]
    const [there, downThere] = await move(directory, ['--to', server.url], at)
    const [back, downBack] = await move(directory, ['--to', 'file', ...at], [])
    return [
      told('moved to a database', there),
      told('nobody served meanwhile', downThere),
      told('moved back to a file', back),
      told('nobody served meanwhile', downBack),
    ]
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
