/** For tests: mail that a hub can read under way, of agents and of visitors, and all that was said in it. */
import { toBase64, toBase64url, utf8 } from '../../protocol/encoding/bytes.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { openMail, wordsFrom } from './guest-handler.ts'
import { random } from './hub.ts'
import type { OpenAgent, Wire1Client } from './wire1.ts'

const GUEST_EVERY = 10
const REFUSED_EVERY = 25
const COLLECT_EVERY = 50
const LARGE_EVERY = 40
const LARGE_BYTES = 200_000
const NOBODY = `A${'b'.repeat(43)}`

/** What all words begin with that agents and visitors say, and those that are answered to a visitor or refused. */
export type Said = { letters: string; unkept: string }

/** Also whole base64, so that it is found there as well. */
const MARK_BYTES = 18

/** So many letters between agents with open mail; every so often a visitor talks, and something is refused. */
export async function makeOpenTraffic(client: Wire1Client, sends: number): Promise<Said> {
  const agents = await Promise.all(Array.from({ length: 4 }, () => client.registered()))
  const [letters, unkept] = [random(MARK_BYTES), random(MARK_BYTES)].map(toBase64url) as [string, string]
  const said = { letters, unkept }
  for (let i = 0; i < sends; i++) {
    const [from, to] = [agents[i % 4], agents[(i + 1) % 4]] as [OpenAgent, OpenAgent]
    const send = { to_aid: to.aid, from_aid: from.aid, kind: 'message', interaction_id: 'i' }
    const payload = utf8(letters.padEnd(i % LARGE_EVERY === 0 ? LARGE_BYTES : 100, String(i)))
    await expectStatus(client, '/relay/send', { ...send, payload: toBase64(payload) })
    if (i % GUEST_EVERY === 0) await visit(client, to, said)
    if (i % REFUSED_EVERY === 0) await beRefused(client, send, said)
    if (i % COLLECT_EVERY === COLLECT_EVERY - 1) for (const agent of agents) await collect(client, agent)
  }
  await visit(client, agents[0] as OpenAgent, said)
  return said
}

async function expectStatus(client: Wire1Client, path: string, body: unknown, status = 200) {
  const reply = await client.post(path, body)
  if (reply.status !== status) throw new Error(`${path} is ${reply.status}: ${JSON.stringify(reply.json)}`)
  return reply.json
}

/** A visitor says something, and reads what it is answered. */
async function visit(client: Wire1Client, agent: OpenAgent, said: Said): Promise<void> {
  const { session } = await expectStatus(client, '/guest/start', { aid: agent.aid })
  await expectStatus(client, '/guest/send', { session, body: `${said.letters} please` })
  const { aid: hub } = client.hub
  const { messages } = (await agent.poll({ limit: 1000 })).json as { messages: Got[] }
  const task = messages.findLast(({ from_aid }) => from_aid === hub)?.interaction_id ?? ''
  const given = {
    hub,
    to: hub,
    task,
    number: 1,
    kind: kinds.message,
    payload: wordsFrom(`${said.unkept} gladly`),
  }
  await expectStatus(client, '/relay/send', openMail(agent, given))
  const { messages: heard } = await expectStatus(client, '/guest/poll', { session })
  if (!JSON.stringify(heard).includes(said.unkept)) throw new Error('the visitor was not answered')
}
type Got = { id: string; from_aid: string; interaction_id: string }

/** What is refused was said as well, in whatever member of a request. */
async function beRefused(client: Wire1Client, send: Record<string, unknown>, said: Said): Promise<void> {
  const text = said.unkept
  const payload = toBase64(utf8(text))
  await expectStatus(client, '/relay/send', { ...send, payload, to_aid: client.hub.aid }, 404)
  await expectStatus(client, '/relay/send', { ...send, payload, to_aid: NOBODY }, 404)
  await expectStatus(client, '/relay/send', { ...send, payload, kind: text }, 400)
  await expectStatus(client, '/relay/send', { ...send, payload: `${text}!` }, 400)
  await expectStatus(client, '/guest/send', { session: text, body: text, attachments: [text] }, 400)
}

async function collect(client: Wire1Client, agent: OpenAgent): Promise<void> {
  const { messages } = (await agent.poll()).json as { messages: Got[] }
  await expectStatus(client, '/relay/ack', { ...agent.sign('ack'), ids: messages.map(({ id }) => id) })
}
