/**
 * Whole tasks between installed coding agents, in a ring: each delegates through the tools that `svc install` gave it
 * and nothing else, and the next one answers for another person, locked down. Both have scripted models. With
 * SVC_RECORD=1 what each model was shown is written to bench/ring.json, which docs/agents.md prints.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { versionOf } from '../../autoreply/attack/attack.ts'
import { recipes } from '../../autoreply/attack/recipes.ts'
import {
  ANSWER,
  type NextCall,
  type RecordingModel,
  startRecordingModel,
} from '../../autoreply/attack/recording-model.ts'
import { World } from '../../cli/demo/world.ts'
import { present } from '../../protocol/encoding/present.ts'
import { RING, type Shown } from '../../scripts/agents-document.ts'
import { until } from '../two-nodes/world.ts'
import { ask, ended, here, install, known, programs } from './installed.ts'

const ASKED = 'Have somebody else add one, two and three.'
const DELEGATED = 'Add one, two and three, please.'
/** Whoever goes on asking has lost the thread. */
const CALLS_MAX = 6
const MINUTES = 60_000
const LIBRARIES = '/usr/lib'

/** The library that shifts the clock of a process, where it is installed. */
const shifter = readdirSync(LIBRARIES)
  .map(name => join(LIBRARIES, name, 'faketime', 'libfaketime.so.1'))
  .find(path => existsSync(path))

/** The clock of a process that is started so many hours later. */
const later = (hours: number): Record<string, string> => ({
  LD_PRELOAD: shifter ?? '',
  FAKETIME: `+${hours}h`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
})

/** What a model does that uses the tools as they describe themselves: find, delegate, read, end with a review. */
function delegating(id: string): NextCall {
  let calls = 0
  return (request, offered) => {
    const call = (tool: string, args: Record<string, unknown>) => {
      const name = offered.find(one => one.endsWith(tool))
      if (name === undefined || calls++ >= CALLS_MAX) return undefined
      return { name, args, ...present({ namespace: id === 'codex' ? 'mcp__svc' : undefined }) }
    }
    const last = (pattern: RegExp) => [...request.matchAll(pattern)].at(-1)?.[1]
    const to = last(/\baid\W+(A[\w-]{43})\b/g)
    const interaction_id = last(/interaction_id\W+([\w-]{22})\b/g)
    if (to === undefined) return call('agents_find', { query: 'sums' })
    if (interaction_id === undefined) return call('task_delegate', { to, task: DELEGATED })
    if (!request.includes(ANSWER)) return call('task_results', { interaction_id, wait_s: 45 })
    if (/review_cid\W+bafk/.test(request)) return undefined
    return call('task_end', { interaction_id, rating: 5, comment: 'as asked' })
  }
}

let world: World
let model: { a: RecordingModel; b: RecordingModel }
beforeEach(() => {
  world = new World(programs, 'svc-ring-')
})
afterEach(async () => {
  await model?.a.close()
  await model?.b.close()
  await world[Symbol.asyncDispose]()
}, MINUTES)

/** A hub with this probation, and two nodes there; alice has never heard of bob, who knows her. */
async function meet(a: string, b: string, hours: number) {
  writeFileSync(world.dir('hub', 'config.json'), JSON.stringify({ limits: { probation_hours: hours } }))
  const words = [ANSWER]
  model = {
    a: await startRecordingModel({ task: ASKED, words, calls: delegating(a) }),
    b: await startRecordingModel({ task: DELEGATED, words: [], calls: [] }),
  }
  const { url, child } = await world.startHub()
  const alice = await world.startNode('alice')
  const bob = await world.startNode('bob', recipes[b]?.env?.(model.b.url) ?? {})
  await world.hub('admit', String(alice['aid']))
  await world.hub('admit', String(bob['aid']))
  await world.svc('alice', 'hub-register', url, '--name', 'alice')
  await world.svc('bob', 'hub-register', url, '--name', 'bob', '--caps', 'text.sum')
  await world.svc('bob', 'profile', 'set', '--summary', 'I do sums')
  await world.svc('bob', 'contact', 'add', String(alice['aid']), 'alice')
  await answerBy(b)
  return { alice: String(alice['aid']), bob: String(bob['aid']), hub: { url, child } }
}

/** Bob's auto-reply, which attacks the agent first: that takes longer than a command of the demo may. */
async function answerBy(b: string): Promise<void> {
  const provider = recipes[b]?.provider?.(model.b.url)
  const more =
    provider === undefined
      ? []
      : ['--provider-url', provider.url, '--provider-key-env', String(provider.keyEnv)]
  const set = ['autoreply', 'set', '--agent', b, '--model', recipes[b]?.model ?? 'scripted', ...more]
  const env = world.env('bob')
  const { code, said } = await ended(spawn(process.execPath, [programs.svc, ...set], { env }))
  expect([code, said]).toEqual([0, said])
}

type Row = Record<string, unknown>
const sentOf = async () => ((await world.svc('alice', 'results'))['items'] as Row[])[0] ?? {}
const reviewIn = (item: Row) => item['review'] as { uploaded: boolean; reason?: string } | undefined

/** Each chain as a stranger verifies it, beside the heads of it that the other side holds. */
async function chainsVerify(aids: { alice: string; bob: string }): Promise<void> {
  for (const [name, other] of [
    ['alice', 'bob'],
    ['bob', 'alice'],
  ] as const) {
    const file = world.dir(`${name}.chain`)
    await world.svc(name, 'evidence', 'export', '--out', file)
    const { heads } = await world.svc(other, 'evidence', 'heads', aids[name])
    const held = (heads as { head: string }[]).flatMap(({ head }) => ['--head', head])
    const { verdict } = await world.svc(name, 'verify', '--chain', file, ...held)
    expect([held.length > 0, verdict]).toEqual([true, 'valid'])
  }
}

const ring = here.map((a, index) => [a, here[(index + 1) % here.length] as string] as const)
const missing = known.filter(id => !here.includes(id))
const title = missing.length === 0 ? '' : ` (skipped: ${missing.join(', ')} not installed)`
const shown: Record<string, Partial<Shown>> = {}

describe.skipIf(here.length === 0)(`a task between people${title}`, () => {
  test.each(ring)(
    'from %s to %s: found, delegated, answered in lock-down, read, ended, reviewed, proven by both',
    async (a, b) => {
      const aids = await meet(a, b, 0)
      const said = await ask(a, await install(world, a), { url: model.a.url, task: ASKED })
      const { warnings } = await world.svc('bob', 'status')
      const sent = await sentOf()
      const { calls, characters } = model.a.seen
      // one that takes its time is asked for again
      const turns = calls.filter((name, index) => name !== calls[index - 1])
      expect([sent['state'], reviewIn(sent)?.uploaded, turns], `${said}\n${warnings}`).toEqual([
        'ended',
        true,
        ['agents_find', 'task_delegate', 'task_results', 'task_end'].map(name =>
          expect.stringContaining(name),
        ),
      ])
      const harmless = recipes[b]?.offers ?? []
      expect([...model.b.offered].filter(name => !harmless.includes(name))).toEqual([])
      await chainsVerify(aids)
      shown[a] = {
        ...(shown[a] ?? {}),
        version: await versionOf(a, { PATH: process.env['PATH'] }, { signal: AbortSignal.timeout(MINUTES) }),
        asks: { calls: calls.length, characters },
      }
      shown[b] = {
        ...(shown[b] ?? {}),
        answers: { offered: [...model.b.offered].sort().join(' '), characters: model.b.seen.characters },
      }
    },
    10 * MINUTES,
  )

  test.skipIf(shifter === undefined)(
    'within 72 hours of her registration the review is kept, and uploaded by itself when they are over',
    async () => {
      const [a, b] = ring[0] as [string, string]
      const { hub } = await meet(a, b, 72)
      const said = await ask(a, await install(world, a), { url: model.a.url, task: ASKED })
      const early = await sentOf()
      expect([early['state'], reviewIn(early)], said).toEqual([
        'ended',
        expect.objectContaining({ uploaded: false, reason: 'probation' }),
      ])
      await world.svc('alice', 'stop')
      hub.child.kill('SIGTERM')
      await ended(hub.child)
      await world.startHub(later(73), new URL(hub.url).host)
      await world.startNode('alice', later(73))
      await until('it is uploaded', async () => reviewIn(await sentOf())?.uploaded)
    },
    10 * MINUTES,
  )

  test.skipIf(process.env['SVC_RECORD'] !== '1')('what each model was shown is on record', () => {
    expect(Object.keys(shown).sort()).toEqual([...known].sort())
    writeFileSync(RING, `${JSON.stringify(shown, null, 2)}\n`)
  })
})
