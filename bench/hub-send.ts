/** Sends under capabilities: their rate beside plain signature checks, what grouping gains, and how long one takes. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestAgent } from '../hub/testing/hub.ts'
import { publicKey, sign, verify } from '../protocol/crypto/engine.node.ts'
import {
  atLeast,
  atMost,
  type HubProcess,
  type Load,
  load,
  median,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'

const RECIPIENTS = 16
const ROUNDS = 5
const SENDS = 4000
const SENDS_ALONE = 1500
const SENDS_FEW = 1000
const WARM_UP = 1000
const VERIFY_MS = 300

/** Signature checks a second of one thread. */
function verificationsPerSecond(): number {
  const seed = new Uint8Array(32).fill(1)
  const key = publicKey(seed)
  const text = new Uint8Array(180)
  const signature = sign(seed, text)
  const start = performance.now()
  let count = 0
  while (performance.now() - start < VERIFY_MS) {
    for (let i = 0; i < 100; i++) verify(key, text, signature)
    count += 100
  }
  return count / ((performance.now() - start) / 1000)
}

/** Flushes a second of a file that is written over, which bounds one transaction each. */
function flushesPerSecond(): number {
  const directory = mkdtempSync(join(tmpdir(), 'svc-flush-'))
  const file = openSync(join(directory, 'file'), 'w')
  const block = new Uint8Array(4096)
  writeSync(file, block)
  const start = performance.now()
  let count = 0
  while (performance.now() - start < VERIFY_MS) {
    writeSync(file, block, 0, block.length, 0)
    fdatasyncSync(file)
    count += 1
  }
  const seconds = (performance.now() - start) / 1000
  closeSync(file)
  rmSync(directory, { recursive: true })
  return count / seconds
}

type Subject = { hub: HubProcess; recipients: TestAgent[] }

async function start(groupMax?: number): Promise<Subject> {
  const hub = await startHubProcess(groupMax === undefined ? {} : { groupMax })
  const recipients = await registerAgents(hub, RECIPIENTS)
  await load(hub.url, prepareSends(hub, recipients, WARM_UP), 64)
  return { hub, recipients }
}

const send = ({ hub, recipients }: Subject, sends: number, clients: number): Promise<Load> =>
  load(hub.url, prepareSends(hub, recipients, sends), clients)

type Round = { verifications: number; many: Load; few: Load; alone: Load }

/** What is compared is measured in turn within seconds, because the machine serves others as well. */
async function round(grouped: Subject, alone: Subject): Promise<Round> {
  const before = verificationsPerSecond()
  const many = await send(grouped, SENDS, 64)
  const verifications = (before + verificationsPerSecond()) / 2
  return {
    verifications,
    many,
    alone: await send(alone, SENDS_ALONE, 64),
    few: await send(grouped, SENDS_FEW, 8),
  }
}

export async function run(): Promise<Row[]> {
  const subjects = [await start(), await start(1)] as const
  const rounds: Round[] = []
  for (let i = 0; i < ROUNDS; i++) rounds.push(await round(...subjects))
  for (const { hub } of subjects) await hub.stop()
  const middle = (figure: (one: Round) => number): number => median(rounds.map(figure))
  const failed = rounds.flatMap(({ many, few, alone }) => [many, few, alone])
  return [
    atLeast(
      'kind-1 sends, 64 clients ÷ plain verifications',
      middle(one => one.many.perSecond / one.verifications),
      '×',
      0.38,
    ),
    atLeast(
      'group commit ÷ one transaction each',
      middle(one => one.many.perSecond / one.alone.perSecond),
      '×',
      3,
    ),
    atMost(
      'p99 of a send, 64 clients',
      middle(one => one.many.p99Ms),
      'ms',
      200,
    ),
    atMost(
      'p99 of a send, 8 clients',
      middle(one => one.few.p99Ms),
      'ms',
      40,
    ),
    atMost(
      'sends refused',
      failed.reduce((sum, one) => sum + one.failed, 0),
      '',
      0,
    ),
    atLeast(
      'kind-1 sends, 64 clients',
      middle(one => one.many.perSecond),
      '/s',
      0,
    ),
    atLeast(
      'sends with one transaction each, 64 clients',
      middle(one => one.alone.perSecond),
      '/s',
      0,
    ),
    atLeast('flushes of 4 KiB', flushesPerSecond(), '/s', 0),
    atLeast(
      'plain verifications, one thread',
      middle(one => one.verifications),
      '/s',
      0,
    ),
  ]
}

if (import.meta.main) console.table(await run())
