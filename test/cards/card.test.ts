/** The card of a real node at a real hub, read with the stock A2A SDK (hub API §4.3). */

import { AgentCard, canonicalizeAgentCard, verifyAgentCardSignature } from '@a2a-js/sdk'
import { DefaultAgentCardResolver } from '@a2a-js/sdk/client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Node } from '../../daemon/node.ts'
import { callRoute } from '../../hub/testing/hub.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeKel } from '../../protocol/identity/kel.ts'
import { interceptHub } from '../two-nodes/intercepted-hub.ts'
import { type Lab, never, openLab, until } from '../two-nodes/world.ts'

let lab: Lab

beforeAll(async () => {
  lab = await openLab()
})
afterAll(() => lab.close())
// The SDK prints every signature that does not verify.
beforeAll(() => void vi.spyOn(console, 'debug').mockImplementation(() => undefined))

const cardPath = (aid: string) => `/a2a/v1/agents/${aid}/card`
const resolver = new DefaultAgentCardResolver()

/** The key that a protected header names, from the key set that it names, as any A2A client gets it. */
async function keyOf(kid: string, jku?: string) {
  const { keys } = (await (await fetch(jku ?? '')).json()) as { keys: { kid: string }[] }
  const key = keys.find(one => one.kid === kid)
  if (key === undefined) throw new Error(`no key ${kid}`)
  return key as never
}
const verify = verifyAgentCardSignature(keyOf)

const headerOf = (card: AgentCard): { kid: string; jku: string } =>
  JSON.parse(Buffer.from(card.signatures[0]?.protected ?? '', 'base64url').toString())

/** The card as the hub serves it; undefined while it serves none. */
async function served(aid: string): Promise<AgentCard | undefined> {
  const { status, json } = await callRoute(lab.hub, 'a2aCard', undefined, { params: { aid } })
  return status === 200 ? (json as unknown as AgentCard) : undefined
}

async function listed(skill: string): Promise<string[]> {
  const { json } = await callRoute(lab.hub, 'a2aAgents', undefined, { query: { skill } })
  return (json['agents'] as { aid: string }[]).map(entry => entry.aid)
}

/** A registered node that declares capabilities. */
async function offering(name: string, caps: string[], url = lab.line.url): Promise<Node> {
  const node = await lab.start(name)
  await lab.hub.running.hub.context.store.admit(node.aid, true)
  await node.handlers.hubRegister({ url, name, caps }, never)
  return node
}

describe('the stock SDK', () => {
  test('fetches the card of a node from its hub and verifies it with the key set that it names; a changed one fails', async () => {
    const node = await offering('maria', ['text.translate', 'sum'])
    await node.handlers.profileSet({ summary: 'Translates and adds.' }, never)
    const card = await resolver.resolve(lab.hub.url, cardPath(node.aid))
    await expect(verify(card)).resolves.toBeUndefined()
    expect(card).toMatchObject({ name: 'maria', description: 'Translates and adds.' })
    expect(card.skills.map(skill => skill.id)).toEqual(['text.translate', 'sum'])
    expect(headerOf(card)).toEqual({
      alg: 'EdDSA',
      typ: 'JOSE',
      kid: `${node.aid}#${node.ctx.identity.log.seq}`,
      jku: `${lab.hub.url}/agents/${node.aid}/jwks.json`,
    })
    for (const changed of [
      { ...card, name: 'mallory' },
      { ...card, skills: card.skills.slice(1) },
      { ...card, capabilities: { ...card.capabilities, extensions: [] } },
    ])
      await expect(verify(changed as AgentCard)).rejects.toThrow('No valid signatures')
  })

  test('reads the same canonical form from it as we sign', async () => {
    const node = await offering('nora', ['only'])
    const card = (await served(node.aid)) as AgentCard
    const { signatures: _, ...unsigned } = card
    const sorted = canonicalizeAgentCard(card)
    expect(JSON.parse(sorted)).toEqual(unsigned)
    expect(AgentCard.toJSON(AgentCard.fromJSON(card))).toEqual(card)
  })
})

describe('the card of a node', () => {
  test('exists once it declares capabilities, and follows the profile', async () => {
    const node = await lab.member('olga')
    expect(await served(node.aid)).toBeUndefined()
    const joined = await node.handlers.hubRegister({ url: lab.line.url, caps: ['olga.one'] }, never)
    // A round of the node may have brought it there first.
    expect(['stored', 'unchanged']).toContain(joined.card_status)
    expect(joined.note).toBeUndefined()
    expect(await listed('olga.one')).toEqual([node.aid])
    await node.handlers.profileSet({ summary: 'Does one thing.' }, never)
    expect(await served(node.aid)).toMatchObject({ description: 'Does one thing.' })
    await node.handlers.hubRegister({ url: lab.line.url, caps: [] }, never)
    expect(await listed('olga.one')).toEqual([])
    expect((await served(node.aid))?.skills.map(skill => skill.id)).toEqual(['task'])
  })

  test('names what its work costs, for the page of the hub and for whoever looks it up, and follows a change', async () => {
    const node = await offering('tessa', ['text.price'])
    const other = await lab.member('ulla')
    const asked = async () => (await other.handlers.agentPrices({ aid: node.aid }, never)).prices
    expect(await asked()).toEqual([])
    await node.handlers.priceSet({ capability: 'task', amount: 12 }, never)
    await until('the card names it', async () => (await asked())[0]?.amount === 12)
    expect(await asked()).toEqual([{ capability: 'task', amount: 12 }])
    const card = await resolver.resolve(lab.hub.url, cardPath(node.aid))
    await expect(verify(card)).resolves.toBeUndefined()
    await node.handlers.visibility({ visibility: 'public' }, never)
    const page = await (await fetch(`${lab.hub.url}/agents/${node.aid}/page`)).text()
    expect(page).toContain('a task in words: 12 credits')
    await node.handlers.priceSet({ capability: 'task', amount: 0 }, never)
    await until('the card names none', async () => (await asked()).length === 0)
  })

  test('leaves the listing with a rotation and comes back by itself under the new key, also over a restart', async () => {
    let isCut = false
    await using proxy = await interceptHub(
      () => lab.hub.url,
      route =>
        isCut && route === 'POST /register'
          ? { status: 503, body: { reason: 'unavailable', error: 'x' } }
          : undefined,
    )
    const node = await offering('petra', ['petra.skill'], proxy.url)
    const before = (await served(node.aid)) as AgentCard
    isCut = true
    await node.handlers.idRotate({}, never)
    const { log } = node.ctx.identity
    await callRoute(lab.hub, 'pushKel', { aid: node.aid, kel: toBase64url(encodeKel(log.events)) })
    expect(await listed('petra.skill')).toEqual([])
    expect(await served(node.aid)).toBeUndefined()
    await expect(verify(before)).rejects.toThrow('No valid signatures')
    await node.stop()
    isCut = false
    await lab.start('petra')
    await until('the card is back', async () => (await served(node.aid)) !== undefined)
    const after = (await served(node.aid)) as AgentCard
    await expect(verify(after)).resolves.toBeUndefined()
    expect(headerOf(after).kid).toBe(`${node.aid}#${log.seq}`)
    expect(await listed('petra.skill')).toEqual([node.aid])
  })

  test('is signed anew when its hub got another address, or lost it', async () => {
    const node = await offering('rosa', ['rosa.skill'])
    const before = headerOf((await served(node.aid)) as AgentCard).jku
    const port = new URL(lab.hub.url).port
    await lab.hub.restart()
    expect(new URL(lab.hub.url).port).not.toBe(port)
    expect(await served(node.aid)).toBeUndefined()
    expect(await listed('rosa.skill')).toEqual([])
    lab.hub.clock.advance(2 * 3_600_000)
    node.wake()
    await until('the card names the new address', async () => (await served(node.aid)) !== undefined)
    const card = (await served(node.aid)) as AgentCard
    expect(headerOf(card).jku).not.toBe(before)
    await expect(verify(card)).resolves.toBeUndefined()
  })

  test('that the hub refuses is told to the user with the next step, and not sent again and again', async () => {
    let sent = 0
    await using proxy = await interceptHub(
      () => lab.hub.url,
      route => {
        if (route === 'POST /register') sent += 1
        return route === 'GET /.well-known/ai-catalog.json'
          ? { status: 404, body: { reason: 'not_found', error: 'x' } }
          : undefined
      },
    )
    const node = await lab.start('silke')
    await lab.hub.running.hub.context.store.admit(node.aid, true)
    const joined = await node.handlers.hubRegister({ url: proxy.url, caps: ['silke.skill'] }, never)
    expect(joined.card_status).toBe('refused')
    expect(joined.note).toMatch(/did not take the A2A card.*; check the profile/)
    expect((await node.handlers.status(undefined, never)).warnings).toContain(joined.note)
    // a round that began with the registration ends first
    await new Promise(resolve => setTimeout(resolve, 300))
    const before = sent
    await node.handlers.profileSet({ readme: 'not part of the card' }, never)
    expect(sent).toBe(before)
  })
})
