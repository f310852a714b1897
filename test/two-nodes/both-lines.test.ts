/**
 * Two nodes of wire 1 and two of wire 3 live on one hub: neither line knows the mail of the other, and they pay each other
 * out of common accounts. With the built programs.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { World } from '../../cli/demo/world.ts'
import { fromBase64, fromBase64url, fromUtf8 } from '../../protocol/encoding/bytes.ts'
import { parseJson } from '../../protocol/encoding/json.ts'
import { decodeKel, keyAt, verifyKel } from '../../protocol/identity/kel.ts'
import { SettlementReceipt } from '../../protocol/proof/payment.ts'
import { WIRE1_HEADER } from '../../protocol/wire1/headers.ts'

const root = new URL('../..', import.meta.url).pathname
const programs = { svc: join(root, 'dist', 'svc.js'), hub: join(root, 'hub', 'dist', 'svc-hub.js') }
const LOOK_MS = 200
const LOOKS_MAX = 300
const TRIAL = 100

type Reply = Record<string, unknown>
type Name = 'alice' | 'bob'
/** One line of the hub with its two nodes, the second of which works for the first. */
type Line = { world: World; wire: 1 | 3; url: string; aids: Record<Name, string> }
let hub: Awaited<ReturnType<World['startHub']>>
let open: Line
let sealed: Line
const lines = (): [Line, Line][] => [
  [open, sealed],
  [sealed, open],
]

async function until<T>(ask: () => Promise<T>, holds: (reply: T) => boolean): Promise<T> {
  for (let look = 0; ; look++) {
    const reply = await ask()
    if (holds(reply)) return reply
    if (look === LOOKS_MAX) throw new Error(`waited in vain: ${JSON.stringify(reply)}`)
    await pause(LOOK_MS)
  }
}

async function lineOf(world: World, wire: Line['wire'], url: string): Promise<Line> {
  const aids = { alice: '', bob: '' }
  for (const name of ['alice', 'bob'] as const) {
    aids[name] = String((await world.startNode(name))['aid'])
    await open.world.hub('admit', aids[name])
    const join = await world.svc(
      name,
      'hub-register',
      url,
      '--wire',
      String(wire),
      '--name',
      `${name}-${wire}`,
    )
    expect(join).toMatchObject({ wire, sealed: wire === 3, hub_aid: hub.aid })
  }
  await world.svc('alice', 'contact', 'add', aids.bob, 'bob')
  await world.svc('bob', 'contact', 'add', aids.alice, 'alice')
  return { world, wire, url, aids }
}

beforeAll(async () => {
  const world = new World(programs)
  open = { world } as Line
  hub = await world.startHub({}, '127.0.0.1:0', ['--wire', '3', '--wire1-listen', '127.0.0.1:0'])
  const url = /wire 1 at (http:\S+)/.exec(hub.printed)?.[1]
  open = await lineOf(world, 1, String(url))
  sealed = { world: new World(programs) } as Line
  sealed = await lineOf(sealed.world, 3, hub.url)
})
afterAll(async () => {
  await sealed?.world?.[Symbol.asyncDispose]()
  await open?.world?.[Symbol.asyncDispose]()
})

const asked = async ({ url, wire }: Line, path: string, body?: Reply) => {
  const answer = await fetch(`${url}${path}`, {
    headers: { [WIRE1_HEADER]: String(wire), 'Content-Type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, json: (text === '' ? {} : JSON.parse(text)) as Reply }
}
const inbox = async ({ world }: Line, name: Name) =>
  ((await world.svc(name, 'inbox'))['items'] as { interaction_id: string }[]).map(one => one.interaction_id)

describe('the mail of one line', () => {
  test('goes from delegation to a receipt that both signed, beside that of the other', async () => {
    await Promise.all(lines().map(([line]) => workedFor(line)))
  })

  async function workedFor({ world, wire }: Line): Promise<void> {
    const { interaction_id } = await world.svc('alice', 'delegate', 'bob', `count to ${wire}`)
    const id = String(interaction_id)
    await until(
      () => inbox({ world } as Line, 'bob'),
      ids => ids.includes(id),
    )
    await world.svc('bob', 'message', id, 'counted', '--end')
    await until(
      () => world.svc('alice', 'thread', id),
      ({ actions }) => (actions as string[]).includes('accept_end'),
    )
    await world.svc('alice', 'accept-end', id)
    for (const name of ['alice', 'bob'] as const)
      await until(
        () => world.svc(name, 'verify', id).catch(() => ({}) as Reply),
        ({ verdict, counter_signed }) => verdict === 'valid' && counter_signed === true,
      )
    const out = world.dir('home', `proof-${wire}`)
    await world.svc('alice', 'verify', id, '--offline', '--out', out)
  }

  test('is proven to a node of the other, offline', async () => {
    for (const [line, other] of lines()) {
      const told = await other.world.svc('bob', 'verify', line.world.dir('home', `proof-${line.wire}`))
      expect(told).toMatchObject({ verdict: 'valid', request_matches: true, result_matches: true })
    }
  })

  test('is not found by the other, whose tasks wait and say so', async () => {
    for (const [line, other] of lines()) {
      const { agents } = await line.world.svc('alice', 'find')
      const aids = (agents as { aid: string }[]).map(({ aid }) => aid)
      expect(aids.sort()).toEqual(Object.values(line.aids).sort())
      const { interaction_id } = await line.world.svc('alice', 'delegate', other.aids.bob, 'read this')
      const { delivery } = await until(
        async () => {
          const { turns } = await line.world.svc('alice', 'thread', String(interaction_id))
          return (turns as { delivery: Reply }[])[0] as { delivery: Reply }
        },
        turn => turn.delivery['reason'] !== undefined,
      )
      expect(delivery).toMatchObject({
        state: 'queued',
        reason: expect.stringMatching(/^(?:the recipient|no rea)/),
      })
      expect(await inbox(other, 'bob')).not.toContain(interaction_id)
    }
  })

  test('has 404 for the agents of the other', async () => {
    const letter = { to_aid: sealed.aids.bob, from_aid: open.aids.alice, kind: 'message', payload: 'AA==' }
    expect((await asked(open, '/relay/send', letter)).status).toBe(404)
    for (const path of ['', '/card', '/balance', '/ledger', '/redemptions', '/reputation'])
      expect([path, (await asked(open, `/agents/${sealed.aids.bob}${path}`)).status]).toEqual([path, 404])
    for (const path of ['', '/keys', '/a2a-card'])
      expect([path, (await asked(sealed, `/agents/${open.aids.bob}${path}`)).status]).toEqual([path, 404])
  })
})

describe('credits', () => {
  const balance = async ({ world }: Line) => Number((await world.svc('alice', 'balance'))['balance'])

  /** Any program settles what a node authorized, at the line of the payer. */
  async function pays(payer: Line, payee: Line, amount: number): Promise<Reply> {
    const { world } = payer
    const args = ['x402-authorize', '--pay-to', payee.aids.alice, '--amount', String(amount)]
    const { stdout } = await world.run(programs.svc, args, world.env('alice'))
    const paymentPayload = parseJson(fromUtf8(fromBase64(stdout.trim()))) as Reply
    const terms = { paymentRequirements: paymentPayload['accepted'] }
    const settle = () => asked(payer, '/x402/settle', { x402Version: 2, paymentPayload, ...terms })
    const first = await settle()
    expect([first.status, first.json['success']]).toEqual([200, true])
    expect((await settle()).json).toEqual(first.json)
    return first.json
  }

  test('move between the lines both ways, once, and the hub signs each', async () => {
    const paid = [await pays(open, sealed, 30), await pays(sealed, open, 7)]
    expect([await balance(open), await balance(sealed)]).toEqual([TRIAL - 23, TRIAL + 23])
    const { json } = await asked(sealed, '/hub/identity')
    const log = verifyKel(decodeKel(fromBase64url(String(json['kel']))))
    const [first, second] = [fromBase64, fromBase64url].map((read, at) => {
      const extensions = paid[at]?.['extensions'] as Record<string, string>
      return SettlementReceipt.decode(read(String(extensions['svc.settlement.receipt'])))
    }) as [SettlementReceipt, SettlementReceipt]
    for (const receipt of [first, second])
      expect(SettlementReceipt.verify(keyAt(log, receipt.body.hubKelSeq) as Uint8Array, receipt)).toBe(true)
    const [a, b] = [open.aids.alice, sealed.aids.alice]
    expect(first.body).toMatchObject({ payer: a, payee: b, amount: 30, hub: hub.aid })
    expect(second.body).toMatchObject({ payer: b, payee: a, amount: 7, hub: hub.aid })
  })

  test('agree with what each node signed, and with one chain of the hub', async () => {
    const heads = await Promise.all(
      lines().map(async ([{ world }]) => {
        expect(await world.svc('alice', 'reconcile')).toMatchObject({
          ...{ agrees: true, unknown: [], missing: [], open: [] },
        })
        const audited = await world.svc('alice', 'audit-hub')
        expect(audited).toMatchObject({ verified: true, issued: 4 * TRIAL })
        return audited['head_id']
      }),
    )
    expect(heads[0]).toBe(heads[1])
    expect((await asked(open, '/x402/supply')).json['supply']).toMatchObject({
      ...{ issued: 4 * TRIAL, balances: 4 * TRIAL, chain_agrees: true },
    })
  })
})
