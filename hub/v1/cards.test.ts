/** Cards over wire 1: stored with a registration, served byte for byte. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cardText } from '../../protocol/identity/card.ts'
import { signOpenCard } from '../../protocol/identity/open-card.ts'
import { plainCard } from '../testing/cards.ts'
import { startTestHub, type TestHub } from '../testing/hub.ts'
import { OpenAgent, Wire1Client } from '../testing/wire1.ts'

let hub: TestHub
let client: Wire1Client
beforeAll(async () => {
  hub = await startTestHub({ wires: [1] })
  client = new Wire1Client(hub)
})
afterAll(() => hub.close())

const cardOf = ({ seed, aid, log }: Pick<OpenAgent, 'seed' | 'aid' | 'log'>, number: number): string =>
  JSON.stringify(JSON.parse(cardText(signOpenCard(plainCard, { seed, aid, seq: log.seq, number }))), null, 1)
const served = async ({ aid }: OpenAgent) => {
  const answer = await fetch(`${hub.url}/agents/${aid}/card`)
  return answer.status === 200 ? await answer.text() : answer.status
}

describe('a card', () => {
  test('is served as it was signed, byte for byte, and none is 404', async () => {
    const agent = await client.registered()
    expect(await served(agent)).toBe(404)
    const card = cardOf(agent, 1)
    expect((await agent.register({ card })).status).toBe(200)
    expect(await served(agent)).toBe(card)
    const { headers } = await fetch(`${hub.url}/agents/${agent.aid}/card`)
    expect(headers.get('content-type')).toBe('application/json')
    expect((await agent.register()).status).toBe(200)
    expect(await served(agent)).toBe(card)
  })

  test('has a number above the one held; the same card again changes nothing', async () => {
    const agent = await client.registered()
    const [second, third] = [cardOf(agent, 2), cardOf(agent, 3)]
    for (const card of [second, second, third]) expect((await agent.register({ card })).status).toBe(200)
    const { status, json } = await agent.register({ card: second })
    expect([status, json['error']]).toEqual([400, expect.stringContaining('not higher')])
    expect(await served(agent)).toBe(third)
    await client.post(`/agents/${agent.aid}/deregister`, agent.sign('profile'))
    expect(await served(agent)).toBe(404)
    expect((await agent.register({ card: third })).status).toBe(400)
    expect((await agent.register({ card: cardOf(agent, 4) })).status).toBe(200)
  })

  test('of another subject, of no form, or under another key refuses the registration before anything is written', async () => {
    const [agent, other] = [new OpenAgent(client), await client.registered()]
    await hub.running.order({ command: 'admit', aid: agent.aid })
    const { seed, log } = agent
    const wrong = [cardOf(other, 1), cardOf({ seed, log, aid: other.aid }, 1), '{}', '{', 'x'.repeat(65_537)]
    for (const card of wrong) expect((await agent.register({ card })).status).toBe(400)
    expect((await client.get(`/agents/${agent.aid}`)).status).toBe(404)
  })

  test('of somebody who is not let in is not kept', async () => {
    const agent = new OpenAgent(client)
    expect((await agent.register({ card: cardOf(agent, 1) })).status).toBe(403)
    expect(await hub.running.hub.context.store.openCard(agent.aid)).toBeUndefined()
  })

  test('is not served under a key that was rotated away, until its agent signs it anew', async () => {
    const agent = await client.registered()
    await agent.register({ card: cardOf(agent, 1) })
    agent.rotate()
    await agent.register()
    expect(await served(agent)).toBe(404)
    const card = cardOf(agent, 2)
    await agent.register({ card })
    expect(await served(agent)).toBe(card)
  })
})
