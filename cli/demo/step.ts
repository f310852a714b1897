/** What the steps of a demo are made of: what they hand on, and the comparison on which each stands. */
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { StepName } from './step-names.ts'
import type { ToolClient } from './tool-client.ts'
import type { World } from './world.ts'

const WAIT_MS = 6_000
const POLL_MS = 60

/** What the steps hand on to one another. */
export type Facts = {
  hubUrl: string
  alice: string
  bob: string
  tools: ToolClient
  interaction: string
  receipt: string
  resultFile: string
  answer: string
}

export type Step = {
  name: StepName
  title: string
  run(world: World, facts: Facts, spoiled: boolean): Promise<string>
}

/** The comparison on which a step stands. */
export function same(what: string, found: unknown, expected: unknown): void {
  if (found !== expected)
    throw new Error(`${what}: found ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
}

export async function until<T>(
  what: string,
  look: () => Promise<T | undefined>,
  waitMs = WAIT_MS,
): Promise<T> {
  for (const deadline = Date.now() + waitMs; ; await pause(POLL_MS)) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > deadline) throw new Error(`${what} did not happen within ${waitMs / 1000} s`)
  }
}

export const getJson = async (url: string, wire = 3) =>
  (await (await fetch(url, { headers: { 'X-Svc-Wire': String(wire) } })).json()) as Record<string, unknown>
export const short = (aid: string) => `${aid.slice(0, 6)}…${aid.slice(-4)}`

export async function startNode(
  world: World,
  name: 'alice' | 'bob',
  env: Record<string, string>,
  spoiled: boolean,
) {
  const up = await world.startNode(name, env)
  if (spoiled) process.kill(Number(up['pid']), 'SIGKILL')
  const status = await world.svc(name, 'status')
  same('AID that the running node says', status['aid'], up['aid'])
  return String(status['aid'])
}

/** Changes one letter of an AID inside the first record: what somebody would do who wants another story told. */
export function rewriteRecord(path: string, aid: string): void {
  const [line, ...rest] = readFileSync(path, 'utf8').split('\n') as [string, ...string[]]
  const record = Buffer.from(line, 'base64')
  const at = record.indexOf(aid) + aid.length - 1
  record[at] = record[at] === 0x41 ? 0x51 : 0x41
  writeFileSync(path, [record.toString('base64'), ...rest].join('\n'))
}

export async function refusesAlteredChain(world: World, aid: string): Promise<void> {
  const copy = world.dir('altered')
  cpSync(world.dir('bob'), copy, { recursive: true })
  rewriteRecord(join(copy, 'evidence.ael.jsonl'), aid)
  const env = { ...world.env('bob'), SVC_HOME: copy }
  const ran = await world.run(world.programs.svc, ['daemon'], env)
  same('exit code of a node with an altered chain', ran.code, 1)
}

function filesBelow(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map(name => join(dir, name))
    .filter(path => statSync(path, { throwIfNoEntry: false })?.isFile())
}

/** How many files a folder has, and those that hold these bytes. */
export function filesWith(dir: string, needle: Buffer): { searched: number; found: string[] } {
  const files = filesBelow(dir)
  return { searched: files.length, found: files.filter(path => readFileSync(path).includes(needle)) }
}
