/**
 * Half an hour of work between four nodes over one hub, of which the hub and two nodes are killed again and again.
 * SOAK_MINUTES makes it shorter or longer (memory is compared from 15 on), SEED repeats one.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { kinds } from '../protocol/mail/payload.ts'
import { seed, sliced } from '../protocol/testing/slow.ts'
import { CrashLab, type NodeName, readNode, type Story, type Who } from './two-nodes/crash-world.ts'

const MINUTES = Number(process.env['SOAK_MINUTES'] ?? sliced(30, 0.75))
const INTERACTIONS = Math.round((2000 / 30) * MINUTES)
const LENGTH_MS = MINUTES * 60_000
const KILL_EVERY_MS = sliced(20_000, 6000)
const SAMPLE_EVERY_MS = 5000
const LOOK_EVERY_MS = 250
/** What one interaction may take, with the hub or a side away several times. */
const PATIENCE_MS = 15 * 60_000
/** Memory is compared from here on, in windows of this length, and only of processes that have settled. */
const WARM_MS = 5 * 60_000
const isLong = LENGTH_MS >= 3 * WARM_MS
const SETTLED_AGE_MS = 8000
const GROWTH_MAX_MIB = 16

const requesters = ['alice', 'dora'] as const
/** These and the hub are killed; dora and carol live through all of it. */
const victims: Who[] = ['hub', 'alice', 'bob']
const names: NodeName[] = ['alice', 'bob', 'carol', 'dora']

type Job = { n: number; kind: 'call' | 'words' | 'auto'; from: NodeName; to: NodeName; id: string }
type Sample = { who: Who; atMs: number; mib: number }

const lab = new CrashLab(names, { modules: { cas: {} } })
const aids = new Map<NodeName, string>()
const jobs: Job[] = []
const samples: Sample[] = []
const startedAt = Date.now()
const random = generator(seed)

beforeAll(async () => {
  await lab.open()
  for (const name of names) aids.set(name, await lab.aid(name))
})
afterAll(() => lab.close())

function generator(state: number): () => number {
  let word = state >>> 0
  return () => {
    word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0
    return word / 2 ** 32
  }
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
const pause = (ms: number) => new Promise<void>(resolve => setTimeout(resolve, ms))

/** Most are calls that the provider answers itself; in words carol answers by hand, bob by his program. */
function job(n: number): Job {
  const share = random()
  const kind = share < 0.65 ? 'call' : share < 0.97 ? 'words' : 'auto'
  const to = kind === 'call' ? pick(['bob', 'carol'] as const) : kind === 'words' ? 'carol' : 'bob'
  return { n, kind, from: pick(requesters), to, id: '' }
}

async function until(what: string, job: Job, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + PATIENCE_MS
  while (Date.now() < end) {
    if (await holds()) return
    await pause(LOOK_EVERY_MS)
  }
  const sides = await Promise.all([threadOf(job.from, job.id), threadOf(job.to, job.id)])
  throw new Error(`${what} did not happen: ${JSON.stringify({ job, sides })}`)
}

type Thread = { state: string; turns?: { text: string; mine: boolean }[]; receipt?: { verified: boolean } }
const threadOf = async (who: NodeName, id: string) =>
  (await lab.ask(who, 'POST', '/thread', { interaction_id: id })) as Thread
const answerTo = (n: number) => `answer to task ${n}`

async function run(one: Job): Promise<void> {
  const { n, kind, from, to } = one
  const content = Buffer.from(`content ${seed} ${n}`).toString('base64')
  const what = kind === 'call' ? { capability: 'cas.put', args: { content } } : { task: `task ${n}` }
  const order = { to: aids.get(to), idempotency_key: `order-${n}`, ...what }
  one.id = (await lab.ask(from, 'POST', '/delegate', order))['interaction_id'] as string
  const given = { interaction_id: one.id }
  if (kind === 'words') {
    await until('the task arrives', one, async () => (await threadOf(to, one.id)).turns !== undefined)
    await lab.ask(to, 'POST', '/message', { ...given, text: answerTo(n), idempotency_key: `answer-${n}` })
  }
  if (kind !== 'call') {
    await until('the answer arrives', one, async () => {
      const { turns } = await threadOf(from, one.id)
      return turns?.some(turn => turn.text === answerTo(n)) === true
    })
    await lab.ask(from, 'POST', '/end', { ...given, mode: 'either' })
    // bob's program ends by itself what was proposed to it, carol's owner does it
    if (kind === 'words') {
      await until('the proposal arrives', one, async () => (await threadOf(to, one.id)).state !== 'open')
      await lab.ask(to, 'POST', '/end', { ...given, mode: 'either' })
    }
  }
  await until('the receipt', one, async () => (await threadOf(from, one.id)).receipt?.verified === true)
  await until('the counter-signature', one, async () => {
    return (await lab.ask(to, 'POST', '/verify', given))['counter_signed'] === true
  })
}

/** Interactions begin evenly over the time, however long each takes. */
async function work(): Promise<void> {
  const running: Promise<void>[] = []
  for (let n = 1; n <= INTERACTIONS; n++) {
    const wait = startedAt + ((n - 1) * LENGTH_MS) / INTERACTIONS - Date.now()
    if (wait > 0) await pause(wait)
    const one = job(n)
    jobs.push(one)
    running.push(run(one))
  }
  await Promise.all(running)
}

async function killing(ended: AbortSignal): Promise<void> {
  const turn = generator(seed + 1)
  while (!ended.aborted) {
    await pause(KILL_EVERY_MS)
    if (!ended.aborted) lab.kill(victims[Math.floor(turn() * victims.length)] as Who)
  }
}

async function sampling(ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await pause(SAMPLE_EVERY_MS)
    for (const who of ['hub', ...names] as const) {
      const { pid, ageMs } = lab.processOf(who)
      const mib = pid === undefined || ageMs < SETTLED_AGE_MS ? undefined : residentMib(pid)
      if (mib !== undefined) samples.push({ who, atMs: Date.now() - startedAt, mib })
    }
  }
}

function residentMib(pid: number): number | undefined {
  try {
    const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : Number(kib) / 1024
  } catch {
    return undefined
  }
}

/** The least of each minute, where there is any. */
function byMinute(who: Who): string {
  return Array.from({ length: Math.ceil(MINUTES) }, (_, minute) => {
    const of = samples.filter(one => one.who === who && Math.floor(one.atMs / 60_000) === minute)
    return of.length === 0 ? '-' : Math.min(...of.map(one => one.mib)).toFixed(0)
  }).join(' ')
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** Resident MiB of a process after the first minutes, and at the end. */
function memory(who: Who): { first: number; last: number } {
  const within = (from: number, to: number) =>
    median(samples.filter(one => one.who === who && one.atMs >= from && one.atMs < to).map(one => one.mib))
  return { first: within(WARM_MS, 2 * WARM_MS), last: within(LENGTH_MS - WARM_MS, LENGTH_MS) }
}

test(`${INTERACTIONS} interactions in ${MINUTES} minutes under kills complete, each by one answer (SEED=${seed})`, {
  timeout: LENGTH_MS + 2 * PATIENCE_MS,
}, async () => {
  const ended = new AbortController()
  const beside = [killing(ended.signal), sampling(ended.signal)]
  try {
    await work()
  } finally {
    ended.abort()
    await Promise.all(beside)
  }
  // a short run ends as soon as its work does
  expect(lab.kills).toBeGreaterThan(isLong ? Math.floor(LENGTH_MS / KILL_EVERY_MS) - 2 : 0)
})

test('both sides hold the same messages, one answer to each task, and chains that verify', async () => {
  await lab.stop()
  const nodes = new Map<NodeName, Awaited<ReturnType<typeof readNode>>>()
  for (const name of names) nodes.set(name, await readNode(lab.dir(name)))
  const held = (name: NodeName, id: string) => nodes.get(name)?.stories.get(id)
  for (const { n, kind, from, to, id } of jobs) {
    const story = held(from, id) as Story
    expect([n, held(to, id)?.digests]).toEqual([n, story.digests])
    const answers = story.kinds.filter(one => one === kinds.result || one === kinds.message)
    expect([n, answers.length]).toEqual([n, 1])
    if (kind !== 'call') expect([...story.texts].sort()).toEqual([answerTo(n), `task ${n}`])
  }
  for (const name of names) {
    const sent = jobs.filter(one => one.from === name).length
    const got = jobs.filter(one => one.to === name)
    const records = 2 * sent + got.length + got.filter(one => one.kind === 'call').length
    expect([name, nodes.get(name)?.chainLength]).toEqual([name, records])
    expect([name, nodes.get(name)?.stories.size]).toEqual([name, sent + got.length])
  }
})

test.each(isLong ? (['hub', ...names] as const) : [])('the memory of %s stays flat', who => {
  const { first, last } = memory(who)
  console.log(`${who}: ${first.toFixed(0)} MiB, then ${last.toFixed(0)} MiB; by minute ${byMinute(who)}`)
  expect(last - first).toBeLessThan(GROWTH_MAX_MIB)
})
