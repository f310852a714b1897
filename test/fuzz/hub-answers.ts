/**
 * Answers of a hub of wire 1 to a node, mutated: a call ends with a right reading, or with a failure that has a name. Answers
 * are recorded at a real hub and played back, with one of them changed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HubClient, presented } from '../../daemon/hubs/hub.ts'
import { openHub } from '../../daemon/hubs/open.ts'
import type { Send } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { causeCode, Failure, Refusal } from '../../protocol/encoding/errors.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { type Wire1RouteName, wire1Routes } from '../../protocol/wire1/routes.ts'
import { calls, openWorld, type World } from './hub-calls.ts'
import { mutateMember } from './members.ts'
import { type Draw, drawFrom, mutate } from './mutate.ts'
import { MEMORY_GROWTH_MAX_BYTES, settledBytes } from './run.ts'

/** A board sends an order that had no answer again after a pause, for which nobody waits here. */
const PAUSE_MS_MAX = 5000
const PIECE_MAX = 5000
const CALL_MS_MAX = 3000
const STATUSES = [200, 204, 302, 400, 401, 403, 404, 409, 418, 500, 502, 503]
const HEADERS: readonly [name: string, values: readonly string[]][] = [
  ['X-Svc-Wire', ['', '0', '2', '3', '-1', '1, 1', '1e0', '99999999999']],
  ['Date', ['', 'yesterday', 'Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT']],
  ['Retry-After', ['', '-1', '1e9', '999999999', 'Fri, 31 Dec 9999 23:59:59 GMT']],
  ['Content-Type', ['', 'text/html', `a/${'b'.repeat(5000)}`]],
]

type Answer = { status: number; headers: [string, string][]; body: Uint8Array }

/** Answers of the hub in the place of its own, one after another; the last one stays. */
function playing(answers: readonly Answer[], draw: Draw): Send {
  let nth = 0
  return async ({ signal }) => {
    signal?.throwIfAborted()
    const { status, headers, body } = answers[Math.min(nth++, answers.length - 1)] as Answer
    const isBare = status === 204 || status === 304
    return new Response(isBare ? null : inPieces(body, draw), { status, headers })
  }
}

function inPieces(body: Uint8Array, draw: Draw): ReadableStream<Uint8Array> {
  let at = 0
  const most = draw(4) === 0 ? 3 + draw(60) : PIECE_MAX
  return new ReadableStream({
    pull(to) {
      const end = Math.min(body.length, at + (body.length > PIECE_MAX ? PIECE_MAX : 1 + draw(most)))
      if (end > at) to.enqueue(body.slice(at, end))
      at = end
      if (at === body.length) to.close()
    },
  })
}

/** One answer of them in another way. */
function mutated(real: readonly Answer[], draw: Draw): Answer[] {
  const answers = real.map(answer => ({ ...answer, headers: [...answer.headers] }))
  const changed = answers[draw(answers.length)] as Answer
  const kind = draw(10)
  if (kind === 0) changed.status = STATUSES[draw(STATUSES.length)] as number
  else if (kind === 1) {
    const [name, values] = HEADERS[draw(HEADERS.length)] as (typeof HEADERS)[number]
    changed.headers = changed.headers.filter(([one]) => one !== name.toLowerCase())
    changed.headers.push([name, values[draw(values.length)] as string])
  } else if (kind < 4)
    changed.body = mutate(
      real.map(({ body }) => body),
      draw,
    )
  else changed.body = isJson(changed) ? mutateMember(changed.body, draw) : mutate([changed.body], draw)
  return answers
}

const isJson = ({ headers }: Answer) => headers.some(([, value]) => value.startsWith('application/json'))

/** What is wrong with what a call gave; undefined where it is a value that a program can use. */
function faultIn(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `a number that is ${value}`
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'a text that is none'
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return undefined
  for (const one of Object.values(value)) {
    const fault = faultIn(one)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** Whether an error has a name: a refusal, a failure, or one of the network. */
const isNamed = (error: unknown): boolean =>
  error instanceof Failure || error instanceof Refusal || causeCode(error) !== undefined

const timers = {
  ...systemTimers,
  after: (ms: number, work: () => void) => systemTimers.after(ms < PAUSE_MS_MAX ? 1 : ms, work),
}

type Outcome = { value: unknown } | { error: unknown }

const names = Object.keys(calls)
/** Every route that the node's side of this wire calls. */
const folder = new URL('../../daemon/hubs/wire1/', import.meta.url)
const sources = readdirSync(folder).map(file => readFileSync(new URL(file, folder), 'utf8'))
const called = (Object.keys(wire1Routes) as Wire1RouteName[]).filter(name =>
  sources.some(text => new RegExp(`\\broutes\\.${name}\\b`).test(text)),
)

let world: World
let bytesAtStart = 0
const recorded = new Map<string, Answer[]>()
const asked: string[] = []
const outcomes = new Map<string, Outcome>()

/** What a call comes to where its requests go over this. */
async function over(name: string, through: (send: Send) => Send): Promise<Outcome> {
  const { inputs, hub } = world.node
  const { signed } = inputs.connections
  Object.assign(inputs.connections, { signed: through(signed) })
  try {
    // nothing of an earlier call is left
    const client: HubClient = openHub(presented(hub), { ...inputs, timers })
    return { value: await calls[name]?.(client, world) }
  } catch (error) {
    return { error }
  } finally {
    Object.assign(inputs.connections, { signed })
  }
}

async function record(name: string): Promise<void> {
  const answers: Answer[] = []
  const noting = (send: Send): Send => {
    return async request => {
      const response = await send(request)
      const body = new Uint8Array(await response.clone().arrayBuffer())
      answers.push({ status: response.status, headers: [...response.headers], body })
      asked.push(`${request.method} ${new URL(request.url).pathname}`)
      return response
    }
  }
  outcomes.set(name, await over(name, noting))
  recorded.set(name, answers)
}

const played = (name: string, answers: readonly Answer[], draw: Draw) =>
  over(name, () => playing(answers, draw))

/** The test of so many answers to each call. */
export function testHubAnswers(cases: number): void {
  const first = seed
  describe('answers of a hub of wire 1', () => {
    beforeAll(async () => {
      world = await openWorld()
      for (const name of names) await record(name)
      bytesAtStart = settledBytes()
    })
    afterAll(() => world.close())

    test.each(called)('%s is among what was asked', name => {
      const { method, path }: RouteRow = wire1Routes[name]
      const row = new RegExp(`^${method} ${path.replace(/\{\w+\}/g, '[^/]+')}$`)
      expect(asked.filter(one => row.test(one))).not.toEqual([])
    })

    test.each(names)('%s reads what the hub answered as it did then', async name => {
      for (const nth of [1, 2, 3])
        expect(await played(name, recorded.get(name) ?? [], drawFrom(first + nth))).toEqual(
          outcomes.get(name),
        )
    })

    test.each(names)(
      `${cases} mutated answers (from ${first}) to %s are read, or refused by name`,
      async name => {
        for (let seed = first; seed < first + cases; seed++) {
          const draw = drawFrom(seed)
          const answers = mutated(recorded.get(name) ?? [], draw)
          const started = performance.now()
          const read = await played(name, answers, draw)
          expect(performance.now() - started, `milliseconds of seed ${seed}`).toBeLessThan(CALL_MS_MAX)
          if ('error' in read && !isNamed(read.error)) throw new Error(`seed ${seed}`, { cause: read.error })
          if ('value' in read) expect(faultIn(read.value), `seed ${seed}`).toBeUndefined()
        }
      },
    )

    test('after all of them no more memory is held than at the start, but for 64 MiB', () => {
      expect(settledBytes() - bytesAtStart).toBeLessThan(MEMORY_GROWTH_MAX_BYTES)
    })
  })
}
