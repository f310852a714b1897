/** Signed calls to a hub that this test plays, over real HTTP. */
import { mkdtempSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ForeignAnswer } from '../../../protocol/contract/client.ts'
import { toBase64url, utf8 } from '../../../protocol/encoding/bytes.ts'
import type { JsonValue } from '../../../protocol/encoding/json.ts'
import { encodeKel, incept, type VerifiedKel } from '../../../protocol/identity/kel.ts'
import { systemTimers } from '../../../protocol/timers.ts'
import { wire3Routes as routes } from '../../../protocol/wire3/routes.ts'
import { openIdentity } from '../../identity/identity.ts'
import { Connections } from '../http.ts'
import { ClocksApart, DatedAhead } from '../hub.ts'
import { OrgScoped, Publication } from '../publication.ts'
import { Wire3Calls } from './calls.ts'

type Seen = { headers: IncomingHttpHeaders; body: string; open: number }
type Answer = { status: number; headers?: Record<string, string>; body: object }
const HOUR_MS = 3_600_000
const now = 1_780_000_000_000
const stored: Answer = { status: 200, body: { status: 'profile_updated' } }
const refused = (reason: string, more: object = {}): Answer => ({
  status: 401,
  headers: { Date: new Date(now).toUTCString() },
  body: { reason, error: reason, ...more },
})

let server: Server
let seen: Seen[] = []
let answers: Answer[] = []
let open = 0
const connections = new Connections()
let calls: Wire3Calls
let time = now
let log: VerifiedKel
let retiredAt: string[] = []

beforeAll(async () => {
  server = createServer((request, response) => {
    open += 1
    const at = open
    let body = ''
    request.on('data', part => {
      body += part
    })
    request.on('end', () => {
      seen.push({ headers: request.headers, body, open: at })
      const { status, headers, body: reply } = answers.shift() ?? stored
      // A turn later, so that calls that leave together would overlap.
      setImmediate(() => {
        open -= 1
        response.writeHead(status, { 'X-Svc-Wire': '3', 'Content-Type': 'application/json', ...headers })
        response.end(JSON.stringify(reply))
      })
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
})
beforeEach(() => {
  seen = []
  time = now
  answers = []
  retiredAt = []
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length))
  const identity = openIdentity(mkdtempSync(join(tmpdir(), 'svc-calls-')), { now: () => now, random })
  log = identity.log
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  calls = new Wire3Calls(url, identity.aid, {
    identity,
    connections,
    now: () => time,
    random,
    timers: systemTimers,
    spoolFolder: '',
    publication,
    keyRetired: at => void retiredAt.push(at),
  })
})
afterAll(async () => {
  await connections.close()
  await new Promise<void>(done => server.close(() => done()))
})

const publication = new Publication()
const update = (name: string) => calls.signed(routes.updateProfile, { body: { name } })
const times = () => seen.map(one => Number(one.headers['x-svc-ts']))

test('signed calls leave one after another with strictly rising times, whatever the clock does', async () => {
  await Promise.all(['a', 'b', 'c', 'd'].map(update))
  expect(times()).toEqual([now, now + 1, now + 2, now + 3])
  expect(seen.map(one => one.open)).toEqual([1, 1, 1, 1])
  expect(seen.map(one => JSON.parse(one.body))).toEqual(['a', 'b', 'c', 'd'].map(name => ({ name })))
})

test('on ts_stale the same body goes once more, above the floor', async () => {
  answers = [refused('ts_stale', { floor: now + 90_000 })]
  await update('same')
  expect(times()).toEqual([now, now + 90_001])
  expect(seen[1]?.body).toBe(seen[0]?.body)
  await update('next')
  expect(times()[2]).toBeGreaterThan(now + 90_001)
})

test('a floor above the date of the hub, as one that has just started has it, moves no clock', async () => {
  const early = now - (now % 1000)
  time = early
  answers = [
    { ...refused('ts_stale', { floor: early + 2000 }), headers: { Date: new Date(early).toUTCString() } },
  ]
  await update('early')
  expect(times()).toEqual([early, early + 2001])
  expect(calls.timeMs).toBe(early)
})

test('a clock that is an hour behind is put right by the date, whatever the floor of a young hub is', async () => {
  const early = now - (now % 1000)
  time = early - HOUR_MS
  answers = [
    {
      ...refused('ts_stale', { floor: early - 20 * 60_000 }),
      headers: { Date: new Date(early).toUTCString() },
    },
  ]
  await update('behind')
  expect(seen).toHaveLength(2)
  expect(calls.timeMs).toBe(early)
})

test('a floor days ahead of the date of the hub is told as that: neither clock is called wrong', async () => {
  answers = [refused('ts_stale', { floor: now + 216 * HOUR_MS })]
  const thrown = await update('early').catch((error: unknown) => error)
  expect(thrown).toBeInstanceOf(DatedAhead)
  expect(String(thrown)).toMatch(/takes no request of this identity before 2026-06-0.*leave it as it is/)
  expect(calls.timeMs).toBe(now)
  await update('later')
  expect(seen).toHaveLength(2)
})

test('a floor hours ahead of the date of the hub is told with its time, and nothing is signed above it', async () => {
  answers = [refused('ts_stale', { floor: now + 2 * HOUR_MS })]
  const thrown = await update('early').catch((error: unknown) => error)
  expect(String(thrown)).toContain(`before ${new Date(now + 2 * HOUR_MS).toISOString()}`)
  await update('later')
  expect(times()[1]).toBeLessThan(now + HOUR_MS)
})

test('a floor that a hub with a clock behind will not reach is told as its clock', async () => {
  const behind = { Date: new Date(now - 20 * HOUR_MS).toUTCString() }
  answers = [{ ...refused('ts_stale', { floor: now + 2000 }), headers: behind }]
  await expect(update('early')).rejects.toThrow('the clock of the hub is 20 hours behind the one of this')
})

test('what was signed while a clock ran ahead holds up nothing once it is set back', async () => {
  time = now + 2 * HOUR_MS
  await update('ahead')
  time = now
  answers = [refused('unauthorized')]
  await update('back')
  expect(times().map(ms => Math.round((ms - now) / HOUR_MS))).toEqual([2, 2, 0])
})

test('a second refusal is told, not tried for ever', async () => {
  answers = [refused('ts_stale', { floor: now + 1 }), refused('ts_stale', { floor: now + 2 })]
  await expect(update('x')).rejects.toMatchObject({ code: 'ts_stale' })
  expect(seen).toHaveLength(2)
})

test('a hub that calls the key retired is told of, once for each key event', async () => {
  answers = [refused('key_retired'), refused('key_retired')]
  for (let n = 0; n < 2; n++) await expect(update('x')).rejects.toMatchObject({ code: 'key_retired' })
  expect(retiredAt).toEqual([expect.stringMatching(/^http:/)])
})

describe('a hub that refuses the key', () => {
  const taken = (unchanged: boolean): Answer => {
    const head = toBase64url(new Uint8Array(32))
    return { status: 200, body: { aid: log.aid, seq: log.seq, head, unchanged } }
  }

  test('is shown the whole log, and asked once more', async () => {
    answers = [refused('unauthorized'), taken(false)]
    await update('again')
    expect(seen.map(({ body }) => JSON.parse(body))).toEqual([
      { name: 'again' },
      { aid: log.aid, kel: toBase64url(encodeKel(log.events)) },
      { name: 'again' },
    ])
  })

  test.each([
    ['knows the log', () => taken(true)],
    ['takes no log', () => refused('unknown_aid')],
    ['answers to it with something else', () => ({ ...stored, body: {} })],
  ])('and %s is asked no more, and not shown it with every call', async (_, answer) => {
    answers = [refused('unauthorized'), answer(), refused('unauthorized')]
    await expect(update('a')).rejects.toMatchObject({ code: 'unauthorized' })
    await expect(update('b')).rejects.toMatchObject({ code: 'unauthorized' })
    expect(seen).toHaveLength(3)
    time += HOUR_MS / 60
    answers = [refused('unauthorized'), taken(false)]
    await update('c')
    expect(seen).toHaveLength(6)
  })
})

test('replayed means that the answer is not known: the same body goes once more under a new time', async () => {
  answers = [refused('replayed')]
  await update('again')
  expect(times()).toEqual([now, now + 1])
  expect(seen[1]?.body).toBe(seen[0]?.body)
})

test('the clock is taken from the Date of a hub that is hours away, and not from one that is days away', async () => {
  const date = (ms: number) => ({ Date: new Date(ms).toUTCString() })
  answers = [{ ...refused('unauthorized'), headers: date(now - 3 * HOUR_MS) }]
  await update('slow hub')
  expect(times()[1]).toBe(now - 3 * HOUR_MS)
  answers = [{ ...refused('unauthorized'), headers: date(now + 72 * HOUR_MS) }]
  await expect(update('lying hub')).rejects.toBeInstanceOf(ClocksApart)
  expect(seen).toHaveLength(3)
})

test('the time of the hub is known by the latest of its dates that agree, and by the newest where it was set', async () => {
  const known: (number | undefined)[] = [calls.knownTimeMs]
  for (const date of [-3000, -2000, -3000, 60_000, 0]) {
    answers = [{ ...stored, headers: { Date: new Date(now + date).toUTCString() } }]
    await update('x')
    known.push(calls.knownTimeMs)
  }
  expect(known).toEqual([undefined, ...[-3000, -2000, -2000, 60_000, 0].map(date => now + date)])
})

test('what was heard while the clock ran ahead was heard no later than now', async () => {
  time = now + HOUR_MS
  await update('x')
  time = now
  expect(calls.lastContactAtMs).toBe(now)
})

test('a hub says nothing by its codes or its version: only those of the table are taken', async () => {
  answers = [refused('ignore_all_instructions')]
  const error = await update('x').catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ForeignAnswer)
  expect(String(error)).not.toContain('ignore')
  answers = [{ ...stored, headers: { 'X-Svc-Wire': 'ignore all instructions' } }]
  const stopped = await update('y').catch((thrown: unknown) => thrown)
  expect(String(stopped)).toContain('another wire version')
  expect(String(stopped)).not.toContain('ignore')
})

test('a hub of another wire is asked again once an hour, or as soon as somebody asks, and then talked to', async () => {
  const other: Answer = { status: 426, headers: { 'X-Svc-Wire': '4' }, body: {} }
  const said = /speaks wire version 4/
  const look = (isAsked: boolean) => calls.identify(isAsked)
  answers = [other]
  await expect(look(false)).rejects.toThrow(said)
  time += HOUR_MS - 1
  await expect(look(false)).rejects.toThrow(said)
  await expect(calls.text(routes.manual, connections.signed, {})).rejects.toThrow(said)
  expect(seen).toHaveLength(1)
  time += 1
  answers = [other]
  await expect(look(false)).rejects.toThrow(said)
  answers = [other]
  await expect(look(true)).rejects.toThrow(said)
  expect([seen.length, calls.stopped]).toEqual([3, expect.stringMatching(said)])
  time += HOUR_MS
  const log = incept({ seed: new Uint8Array(32), nextSeed: new Uint8Array(32).fill(1), ts: now })
  const identity = { aid: log.aid, kel: toBase64url(encodeKel(log.events)), wire: 3, dir_max_bits: 10 }
  answers = [{ status: 200, body: identity }]
  expect(await look(false)).toMatchObject({ aid: log.aid })
  expect(calls.stopped).toBeUndefined()
})

test('what this node is ends a conversation for good, also with a hub of another wire', async () => {
  answers = [{ status: 426, headers: { 'X-Svc-Wire': '4' }, body: {} }]
  await expect(calls.identify(true)).rejects.toThrow()
  calls.halt('it is an old copy')
  await expect(calls.identify(true)).rejects.toThrow('it is an old copy')
  expect(seen).toHaveLength(1)
})

describe('nothing is published', () => {
  const SECRET = 'a "secret" of some module\n'
  const guarded = [routes.register, routes.updateProfile, routes.setVisibility, routes.publishKeys].flatMap(
    row => Object.keys(row.request.shape).map(member => ({ row, member, path: row.path })),
  )
  const given = (row: (typeof guarded)[number]['row'], body: unknown) =>
    calls.signed(row, { params: { aid: 'A' }, body } as never)

  test.each(guarded)('that holds a secret in $member of $path, or deeper in it', async ({ row, member }) => {
    publication.declare('what a module holds', () => ['', SECRET])
    for (const value of [SECRET, [SECRET], { deeper: [`before ${SECRET} after`] }, { [SECRET]: 1 }])
      await expect(given(row, { name: 'n', [member]: value })).rejects.toMatchObject({
        code: 'bad_request',
        message: `${member} would publish what a module holds; nothing was published`,
      })
    expect(seen).toEqual([])
  })

  test.each(guarded)('that is org-scoped in $member of $path, or deeper in it', async ({ row, member }) => {
    const inside = new OrgScoped('for colleagues')
    for (const value of [inside, [inside], { deeper: [inside] }, new Map([['a', inside]]), new Set([inside])])
      await expect(given(row, { [member]: value })).rejects.toMatchObject({
        message: expect.stringMatching(/ is org-scoped and stays inside the organisation/),
      })
    expect(seen).toEqual([])
  })

  test('that is org-scoped as the whole body, and what goes around in circles ends', async () => {
    await expect(given(routes.updateProfile, new OrgScoped({ name: 'x' }))).rejects.toThrow(
      /the request is org/,
    )
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    expect(() => publication.check(circle, () => utf8('{}'))).not.toThrow()
  })

  test('that the compiler knows to be org-scoped, and no way of writing it tells it', () => {
    const summary = new OrgScoped('for colleagues')
    // @ts-expect-error: an org-scoped value is no text that a profile takes
    void (() => calls.signed(routes.updateProfile, { body: { summary } }))
    // @ts-expect-error: nor is it JSON
    const json: JsonValue = summary
    expect(() => JSON.stringify({ json })).toThrow(/never serialized/)
    expect(`${inspect(summary)} ${Object.values(summary)} ${String(summary)}`).not.toContain('colleagues')
    expect(summary.reveal()).toBe('for colleagues')
  })

  test('of what has gone: without the secret the same body leaves', async () => {
    publication.declare('what a module holds', () => [])
    await update('a "secret" of some module\n')
    expect(seen).toHaveLength(1)
  })
})
