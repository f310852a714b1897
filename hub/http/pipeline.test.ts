/** Two lines of a few words each behind one listener: what a line needs, and how a request finds its own. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { type RouteRow, route } from '../../protocol/contract/route.ts'
import { systemTimers } from '../../protocol/timers.ts'
import { ratesInProcess } from '../core/in-process/rates.ts'
import { defaultLimits } from '../core/limits.ts'
import { Refusal, refusalOf } from '../core/refusal.ts'
import { choosing } from './choice.ts'
import type { Line } from './line.ts'
import { type Hooks, openLine, type SignerHooks } from './pipeline.ts'
import { textReply } from './reply.ts'
import { Shares } from './shares.ts'

type Toy = {
  name: string
  row: RouteRow
  code: string
  signed: string
  signer: { kind: 'agent' | 'hub'; name: string }
}

const word = z.strictObject({ word: z.string() })
const rows: Record<string, RouteRow> = {
  greet: route({ method: 'GET', path: '/greet', auth: 'none' }),
  say: route({ method: 'POST', path: '/say', auth: 'signed', request: word, removed: { shout: 'gone' } }),
}
const more = {
  tell: route({ method: 'POST', path: '/tell', auth: 'signed', signedBy: 'hub', request: word }),
  shared: route({ method: 'GET', path: '/only/{name}', auth: 'none' }),
}

const limits = { ...defaultLimits, requestRate: { perSecond: 1 / 60, burst: 5 } }

/** Signers of a kind are named in a header of their own. */
const signers = (kind: 'agent' | 'hub', header: string): SignerHooks<Toy> => ({
  read: exchange => exchange.header(header),
  authenticate: async ({ signed }) => {
    if (signed === undefined) throw new Refusal('signatureInvalid')
    return { kind, name: signed.toUpperCase() }
  },
})

/** A line whose requests say its name in `X-Line`. */
function toyLine(name: string, shares: Shares, table: Record<string, RouteRow>): Line {
  const hooks: Hooks<Toy> = {
    rows: table,
    handlers: {
      greet: async () => ({ from: name }),
      say: async ({ body, signer }: { body: unknown; signer: unknown }) => ({ from: name, body, signer }),
      tell: async ({ signer }: { signer: unknown }) => ({ signer }),
      shared: async ({ params }: { params: object }) => textReply('text/plain', JSON.stringify(params)),
    },
    headers: { 'X-Answered-By': name },
    internal: 'bug',
    speaks: ({ headers }) => headers['x-line'] === name,
    checkVersion: exchange => exchange.requireMethod(),
    checkHeaders: () => undefined,
    signers: { agent: signers('agent', 'x-signer'), hub: signers('hub', 'x-hub') },
    incoming: () => ({}),
    refusal: code => Object.assign(new Error(code), { told: code }),
    told(thrown) {
      if (thrown instanceof Error && 'told' in thrown) return { code: String(thrown.told), facts: {} }
      const refusal = refusalOf(thrown)
      return refusal && { code: refusal.code, facts: refusal.facts }
    },
    namesCode: () => true,
    answer: ({ code }) => ({ status: 400, headers: {}, body: { [`${name} says`]: code } }),
  }
  const random = (count: number) => new Uint8Array(count)
  const context = { limits, now: () => 0, timers: systemTimers, random }
  return openLine<Toy>({ hooks, shares, context, nameFault: () => undefined }, () => undefined)
}

const shares = new Shares(limits, [rows], { rates: ratesInProcess(), timers: systemTimers })
const line = choosing([toyLine('old', shares, rows), toyLine('new', shares, { ...rows, ...more })])
const server = createServer((request, response) => void line.handle(request, response))
let url = ''
beforeAll(async () => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
  shares.close()
})

async function ask(path: string, given: Record<string, string>, body?: object) {
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
  const response = await fetch(`${url}${path}`, { ...sent, headers: { ...type, ...given } })
  return [response.headers.get('x-answered-by'), await response.json()]
}
const OLD = { 'X-Line': 'old' }
const NEW = { 'X-Line': 'new' }

describe('one listener for two lines', () => {
  test('chooses a line before it routes, so both may have the same paths', async () => {
    expect([await ask('/greet', OLD), await ask('/greet', NEW)]).toEqual([
      ['old', { from: 'old' }],
      ['new', { from: 'new' }],
    ])
    expect([await ask('/only/this', OLD), await ask('/only/this', NEW)]).toEqual([
      ['old', { 'old says': 'resourceUnknown' }],
      ['new', { name: 'this' }],
    ])
  })

  test('gives the first a request that names none, and what was no request', async () => {
    expect(await ask('/greet', {})).toEqual(['old', { from: 'old' }])
    expect(line.answerUnparsed('headTooSlow')).toMatch(
      /X-Answered-By: old\r\n[\s\S]*"old says":"requestMalformed"/,
    )
    expect([
      line.speaks({ headers: {} } as never),
      line.speaks({ headers: { 'x-line': 'new' } } as never),
    ]).toEqual([false, true])
  })

  test('counts an address once, whichever line it asks', async () => {
    const from = { 'X-Forwarded-For': '198.51.100.7' }
    for (let at = 0; at < 5; at++) await ask('/greet', { ...from, ...(at % 2 === 0 ? OLD : NEW) })
    expect([await ask('/greet', { ...OLD, ...from }), await ask('/greet', { ...NEW, ...from })]).toEqual([
      ['old', { 'old says': 'rateLimited' }],
      ['new', { 'new says': 'rateLimited' }],
    ])
  })
})

test('a line says in its own words what its hooks and what the steps of all lines refuse', async () => {
  const signed = { ...NEW, 'X-Signer': 'me' }
  expect([
    await ask('/say', signed, { word: 'hello' }),
    await ask('/say', NEW, { word: 'hello' }),
    await ask('/say', signed, { shout: 'hello' }),
    await ask('/say', signed, { other: 'hello' }),
  ]).toEqual([
    ['new', { from: 'new', body: { word: 'hello' }, signer: { kind: 'agent', name: 'ME' } }],
    ['new', { 'new says': 'signatureInvalid' }],
    ['new', { 'new says': 'gone' }],
    ['new', { 'new says': 'requestMalformed' }],
  ])
})

test('a row says which kind of signer it takes; another kind is nobody to it', async () => {
  const asked = (signer: Record<string, string>) => ask('/tell', { ...NEW, ...signer }, { word: 'hello' })
  expect([await asked({ 'X-Hub': 'peer' }), await asked({ 'X-Signer': 'me' })]).toEqual([
    ['new', { signer: { kind: 'hub', name: 'PEER' } }],
    ['new', { 'new says': 'signatureInvalid' }],
  ])
})

test('a line whose rows take signers that it does not know is not opened', () => {
  const odd = {
    odd: route({ method: 'POST', path: '/odd', auth: 'signed', signedBy: 'moon', request: word }),
  }
  expect(() => toyLine('odd', shares, odd)).toThrow(
    '/odd is signed by a kind that its line does not know: moon',
  )
})
