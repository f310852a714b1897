/** The most expensive requests that somebody without a credential can make, for each route of wire 3. */
import { random, TestAgent } from '../../hub/testing/hub.ts'
import { makeEnvelope, sendHeaders } from '../../hub/testing/mail.ts'
import { bodyOf } from '../../hub/testing/routes.ts'
import { callPath } from '../../protocol/contract/client.ts'
import type { RouteRow } from '../../protocol/contract/route.ts'
import { toBase64url } from '../../protocol/encoding/bytes.ts'
import { encodeAccess } from '../../protocol/mail/access.ts'
import { headers } from '../../protocol/wire3/headers.ts'
import { type Wire3RouteName, wire3Routes } from '../../protocol/wire3/routes.ts'
import { type HubProcess, rawRequest } from './hub-load.ts'

const NO_BODY = new Uint8Array(0)

export type Worst = { route: string; what: string; request: () => Uint8Array }

let sent = 0
/** As from an address that has asked for nothing yet. */
const fresh = (): Record<string, string> => {
  sent += 1
  return { 'X-Forwarded-For': `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}` }
}

/** A text repeated until a body is as long as its route takes. */
function filled(start: string, part: string, end: string, bytes: number): string {
  return start + part.repeat(Math.floor((bytes - start.length - end.length) / part.length)) + end
}

/** What any JSON body may be made of, as long as its route takes it. */
function anyBodies(bytes: number, member: string): [what: string, body: string][] {
  return [
    ['many small values', filled(`{"${member}":[0`, ',0', ']}', bytes)],
    ['many empty objects', filled(`{"${member}":[{}`, ',{}', ']}', bytes)],
    ['many empty lists', filled(`{"${member}":[[]`, ',[]', ']}', bytes)],
    ['many members', `{${Array.from({ length: bytes / 12 }, (_, i) => `"${i.toString(36)}":0`).join(',')}}`],
    ['a string of escapes', filled(`{"${member}":"`, '\\n', '"}', bytes)],
    ['a string of escapes and letters', filled(`{"${member}":"`, '\\na', '"}', bytes)],
    ['a long string', filled(`{"${member}":"`, 'A', '"}', bytes)],
    ['a long string of other letters', filled(`{"${member}":"`, 'é', '"}', bytes / 2)],
    ['blanks', filled('{', ' ', '}', bytes)],
  ]
}

/** The largest lists and texts that a shape takes. */
function largest(name: Wire3RouteName, agent: TestAgent): Record<string, unknown> | undefined {
  const text = (bytes: number): string => toBase64url(random(bytes))
  switch (name) {
    case 'relayAck':
      return { items: Array.from({ length: 1000 }, (_, id) => ({ id, handle: text(16), dack: text(540) })) }
    case 'relayStatus':
      return { items: Array.from({ length: 64 }, () => ({ rid: text(16), handle: text(16) })) }
    case 'mailboxRevoke':
      return { cap_ids: Array.from({ length: 1000 }, () => text(16)) }
    case 'register':
      return { aid: agent.aid, kel: agent.kel, name: 'n', readme: 'é'.repeat(32 * 1024), a2a_card: bigCard() }
    case 'updateProfile':
      return {
        name: 'n',
        caps: Array.from({ length: 64 }, (_, i) => `cap.${i}`),
        readme: 'é'.repeat(32 * 1024),
      }
    case 'pushKel':
      return { aid: agent.aid, kel: agent.kel }
    case 'uploadReview':
      return { receipt: text(330 * 1024), review: text(8 * 1024), rsalt: text(32) }
    default:
      return undefined
  }
}

const bigCard = () => ({
  skills: Array.from({ length: 128 }, (_, i) => ({ id: `skill${i}`, tags: Array(58).fill('tag') })),
})

/** Each JSON route with every such body, signed by nobody. */
export function worstBodies(hub: HubProcess, long: TestAgent): Worst[] {
  return (Object.entries(wire3Routes) as [Wire3RouteName, RouteRow][]).flatMap(([name, row]) => {
    if (row.request === undefined) return []
    const path = callPath(row, { params: { aid: long.aid } })
    const given = largest(name, long)
    const member = Object.keys(given ?? JSON.parse(Buffer.from(bodyOf(name, long)).toString()))[0] ?? 'x'
    const bodies: [string, Uint8Array][] = anyBodies(row.limits.bodyBytes, member).map(([what, body]) => [
      what,
      Buffer.from(body),
    ])
    bodies.push(['a body as it should be', given ? Buffer.from(JSON.stringify(given)) : bodyOf(name, long)])
    return bodies.map(([what, body]) => ({
      route: `${row.method} ${row.path}`,
      what,
      request: () => {
        const signed =
          row.auth === 'signed'
            ? {
                ...long.sign(row.action ?? '', row.method, path, NO_BODY),
                [headers.signature]: toBase64url(random(64)),
              }
            : {}
        return rawRequest(hub, row.method, path, { ...fresh(), ...signed }, body)
      },
    }))
  })
}

/** An envelope with a credential of the largest size that no recipient signed. */
export function worstSend(hub: HubProcess, recipient: TestAgent): Worst {
  const stranger = new TestAgent(hub)
  const { capability } = stranger.capability()
  const envelope = makeEnvelope(
    recipient,
    () =>
      encodeAccess({
        kind: 1,
        capabilityBody: capability.bodyBytes,
        capabilitySignature: capability.signature,
        proof: random(64),
      }),
    { contentBytes: 64 * 1024 },
  )
  const request = () =>
    rawRequest(hub, 'POST', '/relay/send', { ...fresh(), ...sendHeaders(envelope) }, envelope.bytes)
  return { route: 'POST /relay/send', what: 'a capability that the recipient did not sign', request }
}

/** Public reads, with the queries that read most. */
export function worstReads(hub: HubProcess, long: TestAgent, cursors: string[]): Worst[] {
  const ask = (row: RouteRow, what: string, query: () => string = () => ''): Worst => {
    const path = callPath(row, { params: { aid: long.aid, capability: 'any' } })
    return {
      route: `${row.method} ${row.path}`,
      what,
      request: () => rawRequest(hub, row.method, `${path}${query()}`, fresh(), NO_BODY),
    }
  }
  let next = 0
  const cursor = () => `cursor=${cursors[next++ % cursors.length]}`
  const families = Array.from({ length: 64 }, (_, i) => `none${i}*`).join(',')
  const { agents, a2aAgents, publicPage, graph, aiCatalog, research, ...others } = wire3Routes
  const rest = (Object.values(others) as RouteRow[]).filter(({ method }) => method === 'GET')
  return [
    ...rest.map(row => ask(row, 'of an agent with a log of 941 events and 64 KiB to read')),
    ask(agents, '100 agents, each page another', () => `?limit=100&${cursor()}`),
    ask(agents, 'from an agent with a log of 941 events on', () => `?limit=100&cursor=${cursors[0]}`),
    ask(agents, '64 families that nobody has', () => `?cap=${encodeURIComponent(families)}`),
    ask(a2aAgents, '100 agents with cards', () => `?limit=100&${cursor()}`),
    ask(a2aAgents, 'words that nobody has', () => `?limit=100&q=${'z'.repeat(200)}`),
    ask(publicPage, 'words that nobody has', () => `?q=${'z'.repeat(200)}`),
    ask(
      publicPage,
      '64 families that nobody has',
      () => `?cap=${encodeURIComponent(families).slice(0, 1000)}`,
    ),
    ask(publicPage, 'a page of agents', () => `?${cursor()}`),
    ask(graph, 'all agents'),
    ask(aiCatalog, 'all agents'),
    ask(research, 'all agents'),
  ]
}
