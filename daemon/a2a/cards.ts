/** The cards of this interface: of the node, which anybody may read who reaches it, and of each agent behind it. */
import { sha256 } from '#crypto'
import { buildInfo } from '../../protocol/build-info.ts'
import { toHex, utf8 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { fileTypes } from './parts.ts'
import { extensionUris } from './x402.ts'

export const PROTOCOL_VERSION = '1.0'
export const CARD_PATH = '/.well-known/agent-card.json'
/** What this interface says beyond A2A, and reads in the metadata of messages. */
export const EXTENSION_URI = 'urn:svc:a2a:v1'
/** How long a card may be kept. */
const CARD_SECONDS = 60

const SCHEME = 'token'

/** A card as it is sent, with what tells whether it is another one. */
export type Card = { text: string; etag: string; cacheControl: string }

export const cardOf = (value: object, isPublic: boolean): Card => {
  const text = JSON.stringify(value)
  return {
    text,
    etag: `"${toHex(sha256(utf8(text))).slice(0, 32)}"`,
    cacheControl: `${isPublic ? 'public' : 'private'}, max-age=${CARD_SECONDS}`,
  }
}

/** What a capability of this node is called, does and costs. */
export type Offer = { capability: string; summary: string; published: boolean; price?: number }
type Own = {
  aid: string
  name: string
  summary: string
  offers: readonly Offer[]
  /** Agents behind this node that the reader of the card is told of. */
  contacts: readonly { aid: string; petname: string | null }[]
}

/** The card of this node: it serves calls of its own capabilities, and leads to the agents behind it. */
export function ownCard({ aid, name, summary, offers, contacts }: Own, base: string): object {
  const called = name === '' ? aid : name
  const skills = offers.map(({ capability, summary: says, price }) => ({
    id: capability,
    name: capability,
    description: says === '' ? `The capability ${capability}.` : says,
    tags: ['capability', ...(price === undefined ? [] : ['priced'])],
    examples: [JSON.stringify({ capability, args: {} })],
    inputModes: ['application/json'],
    outputModes: ['application/json'],
  }))
  const agents = contacts.map(contact => ({
    aid: contact.aid,
    ...present({ name: contact.petname ?? undefined }),
  }))
  return {
    ...common(base, { name: called, description: summary === '' ? `${called}, a node of svc.` : summary }),
    capabilities: capabilities(
      { aid, ...present({ agents: agents.length === 0 ? undefined : agents }) },
      skills.some(({ tags }) => tags.includes('priced')),
    ),
    skills: [...skills, forwarding],
  }
}

/** The card of an agent behind this node. */
export function agentCard({ aid, name }: { aid: string; name: string | null }, base: string): object {
  const called = name ?? aid
  return {
    ...common(base, {
      name: called,
      description: `${called}, reached by sealed mail through this node; it answers when it is there.`,
    }),
    capabilities: capabilities({ aid }),
    skills: [inWords, calls],
  }
}

const forwarding = {
  id: 'svc.forward',
  name: 'Tasks for other agents',
  description: 'Name an agent as the tenant, by AID or petname: the task goes to it by sealed mail.',
  tags: ['delegation'],
}
const inWords = {
  id: 'task',
  name: 'A task in words',
  description: 'Words and files; the agent or its owner answers.',
  tags: ['task'],
}
const calls = {
  id: 'capability',
  name: 'A call of a capability',
  description: 'One part of data: {"capability": …, "args": {…}}.',
  tags: ['capability'],
  inputModes: ['application/json'],
}

function common(base: string, { name, description }: { name: string; description: string }) {
  const modes = Object.keys(fileTypes)
  return {
    name,
    description,
    version: buildInfo.version,
    supportedInterfaces: ['JSONRPC', 'HTTP+JSON'].map(protocolBinding => ({
      url: base,
      protocolBinding,
      protocolVersion: PROTOCOL_VERSION,
    })),
    securitySchemes: {
      [SCHEME]: {
        httpAuthSecurityScheme: { scheme: 'Bearer', description: 'What `svc a2a token` prints.' },
      },
    },
    securityRequirements: [{ schemes: { [SCHEME]: { list: [] } } }],
    defaultInputModes: modes,
    defaultOutputModes: modes,
  }
}

const capabilities = (params: object, isPriced = false) => ({
  streaming: true,
  pushNotifications: true,
  extendedAgentCard: true,
  extensions: [
    {
      uri: EXTENSION_URI,
      description:
        'svc.end in the metadata of a message ends the task with the answer; both sides sign for it.',
      required: false,
      params,
    },
    ...(isPriced
      ? extensionUris.map(uri => ({
          uri,
          description: 'Priced calls are paid for by x402.',
          required: false,
        }))
      : []),
  ],
})
