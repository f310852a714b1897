/** Sends under capabilities: their rate beside plain signature checks, what grouping gains, and how long one takes. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { faultyDisk, hasCompiler } from '../hub/testing/disk.ts'
import type { TestAgent } from '../hub/testing/hub.ts'
import { publicKey, sign, verify } from '../protocol/crypto/engine.node.ts'
import { installedEngine } from '../protocol/crypto/signature-engine.ts'
import { present } from '../protocol/encoding/present.ts'
import { runAlone } from './lib/help.ts'
import {
  atLeast,
  atMost,
  type HubProcess,
  type HubProcessOptions,
  type Load,
  load,
  median,
  prepareSends,
  type Row,
  registerAgents,
  startHubProcess,
} from './lib/hub-load.ts'

const RECIPIENTS = 16
const ROUNDS = 9
const SENDS = 4000
const SENDS_ALONE = 1500
const SENDS_FEW = 1000
const SENDS_SLOW = 2000
const SENDS_SLOW_ALONE = 400
const SLOW_FLUSH_MS = 2
const WARM_UP = 1000
/** So long the engine compiles what a send runs. */
const WARM_UP_SUBJECTS = 20_000
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

async function start(options: HubProcessOptions = {}, warmUp = WARM_UP): Promise<Subject> {
  const hub = await startHubProcess(options)
  const recipients = await registerAgents(hub, RECIPIENTS)
  for (let sent = 0; sent < warmUp; sent += SENDS)
    await load(hub.url, prepareSends(hub, recipients, Math.min(SENDS, warmUp - sent)), 64)
  return { hub, recipients }
}

/** A hub whose disk takes 2 ms longer for each flush. */
async function startSlow(groupMax?: number): Promise<Subject> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-hub-slow-'))
  const env = faultyDisk(directory, { flushDelayMs: SLOW_FLUSH_MS })
  return await start({ directory, env, standard: true, ...present({ groupMax }) })
}

const send = ({ hub, recipients }: Subject, sends: number, clients: number): Promise<Load> =>
  load(hub.url, prepareSends(hub, recipients, sends), clients)

/** Hubs that check signatures with node:crypto; `fast` has the optional engine, where there is one. */
type Subjects = {
  fast: Subject | undefined
  grouped: Subject
  alone: Subject
  slow: { grouped: Subject; alone: Subject } | undefined
}

type Round = { name: string; value: number }[]

/** What is compared is measured in turn within seconds, because the machine serves others as well. */
async function round({ fast, grouped, alone, slow }: Subjects): Promise<Round> {
  const figures: Round = []
  const note = (name: string, value: number): void => void figures.push({ name, value })
  const before = verificationsPerSecond()
  const many = await send(grouped, SENDS, 64)
  const between = verificationsPerSecond()
  note(names.ratio, many.perSecond / ((before + between) / 2))
  note(names.verifications, between)
  note(names.sends, many.perSecond)
  note(names.p99, many.p99Ms)
  note(names.refused, many.failed)
  if (fast !== undefined) {
    const { perSecond, failed } = await send(fast, SENDS, 64)
    note(names.fastRatio, perSecond / ((between + verificationsPerSecond()) / 2))
    note(names.refused, failed)
  }
  const single = await send(alone, SENDS_ALONE, 64)
  note(names.group, many.perSecond / single.perSecond)
  note(names.alone, single.perSecond)
  note(names.refused, single.failed)
  if (slow !== undefined) {
    const together = await send(slow.grouped, SENDS_SLOW, 64)
    const each = await send(slow.alone, SENDS_SLOW_ALONE, 64)
    note(names.slowGroup, together.perSecond / each.perSecond)
    note(names.refused, together.failed + each.failed)
  }
  const few = await send(grouped, SENDS_FEW, 8)
  note(names.p99Few, few.p99Ms)
  note(names.refused, few.failed)
  return figures
}

const names = {
  ratio: 'kind-1 sends, 64 clients ÷ plain verifications',
  fastRatio: 'kind-1 sends with the optional engine, 64 clients ÷ plain verifications',
  group: 'group commit ÷ one transaction each',
  slowGroup: 'group commit ÷ one transaction each, flushes of 2 ms',
  p99: 'p99 of a send, 64 clients',
  p99Few: 'p99 of a send, 8 clients',
  refused: 'sends refused',
  sends: 'kind-1 sends, 64 clients',
  alone: 'sends with one transaction each, 64 clients',
  verifications: 'plain verifications, one thread',
} as const

export async function run(): Promise<Row[]> {
  const subjects: Subjects = {
    fast:
      installedEngine(createRequire(import.meta.url)).name === 'sodium-native'
        ? await start({}, WARM_UP_SUBJECTS)
        : undefined,
    grouped: await start({ standard: true }, WARM_UP_SUBJECTS),
    alone: await start({ standard: true, groupMax: 1 }),
    slow: hasCompiler ? { grouped: await startSlow(), alone: await startSlow(1) } : undefined,
  }
  const figures: Round = []
  for (let i = 0; i < ROUNDS; i++) figures.push(...(await round(subjects)))
  const { fast, grouped, alone, slow } = subjects
  for (const subject of [fast, grouped, alone, slow?.grouped, slow?.alone]) await subject?.hub.stop()
  const values = (name: string): number[] =>
    figures.filter(figure => figure.name === name).map(({ value }) => value)
  const middle = (name: string): number => median(values(name))
  return [
    atLeast(names.ratio, middle(names.ratio), '×', 0.42),
    ...(fast === undefined ? [] : [atLeast(names.fastRatio, middle(names.fastRatio), '×', 0.5)]),
    atLeast(names.group, middle(names.group), '×', 1.5),
    ...(slow === undefined ? [] : [atLeast(names.slowGroup, middle(names.slowGroup), '×', 3)]),
    atMost(names.p99, middle(names.p99), 'ms', 200),
    atMost(names.p99Few, middle(names.p99Few), 'ms', 40),
    atMost(
      names.refused,
      values(names.refused).reduce((sum, failed) => sum + failed, 0),
      '',
      0,
    ),
    atLeast(names.sends, middle(names.sends), '/s', 0),
    atLeast(names.alone, middle(names.alone), '/s', 0),
    atLeast('flushes of 4 KiB', flushesPerSecond(), '/s', 0),
    atLeast(names.verifications, middle(names.verifications), '/s', 0),
  ]
}

if (import.meta.main) await runAlone(import.meta.filename, run)
