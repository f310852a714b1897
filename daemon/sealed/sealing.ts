/** From a message in the outbox to an envelope ready to send: keys, credential, introduction, reply capabilities. */

import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { type CborValue, decode, encode } from '../../protocol/encoding/cbor.ts'
import { Refusal } from '../../protocol/encoding/errors.ts'
import { present } from '../../protocol/encoding/present.ts'
import { list } from '../../protocol/encoding/record.ts'
import { sealingKey } from '../../protocol/identity/keyset.ts'
import {
  type CapabilityBody,
  type GrantedCapability,
  grantedCapability,
} from '../../protocol/mail/capability.ts'
import { latestExpMs } from '../../protocol/mail/envelope.ts'
import type { MessageBody } from '../../protocol/mail/message.ts'
import { kinds } from '../../protocol/mail/payload.ts'
import { sealEnvelope } from '../../protocol/mail/seal.ts'
import type { Ground } from '../context.ts'
import { waitingRefusals } from '../hubs/failures.ts'
import type { Delivery } from '../hubs/hub.ts'
import type { Peer } from '../peers/peers.ts'
import { mayHoldCapabilities } from '../peers/stock.ts'
import { noteSealing, type OutboxEntry } from '../store/outbox.ts'
import { awaitedAfter, WaitingForKeys } from './awaited-keys.ts'
import type { Directory } from './directory.ts'

type Needs = Pick<
  Ground,
  | 'identity'
  | 'keys'
  | 'store'
  | 'contacts'
  | 'peers'
  | 'capabilities'
  | 'attachments'
  | 'threads'
  | 'log'
  | 'hubNow'
  | 'random'
> & { directory: Directory }

/** Envelopes up to this size fit every capability and every stranger's limit. */
const DIGESTS_KEPT_MAX = 256
const OVERHEAD_BYTES = 256 * 1024
const grantedList = list(grantedCapability, 16)

/** The recipient takes a message of this size only under a capability, and none is held. */
export class WaitingForCapability extends Refusal<'too_large_for_stranger'> {
  override name = 'WaitingForCapability'
}

/** `capability`: which one of the recipient stands in it; undefined where it goes as a stranger's. */
export type Sealed = {
  delivery: Delivery
  expMs: number
  capability: { id: Uint8Array; body: CapabilityBody } | undefined
}

/** State of our own log and key set, as a correspondent may already know it. */
export function ownState(ctx: Pick<Ground, 'identity' | 'keys'>): string {
  return `${ctx.identity.log.seq}.${ctx.keys.set?.body.setSeq ?? 0}`
}

/** Seals a message anew; id, number and digest stay, everything that may change is taken fresh. */
export async function sealMessage(ctx: Needs, entry: OutboxEntry): Promise<Sealed> {
  const peer = await knownPeer(ctx, entry.peer)
  const key = sealingKey(peer.keys, ctx.hubNow())
  if (key === undefined) throw new WaitingForKeys('expired')
  const attachments = ctx.threads.attachmentsOf(entry.message)
  const size = attachments.reduce((sum, attachment) => sum + attachment.size, OVERHEAD_BYTES)
  const held = ctx.capabilities.choose(entry.peer, peer.keys.body.mailboxEpoch, size)
  if (held === undefined && size - OVERHEAD_BYTES > peer.keys.body.strangers.bytes)
    throw new WaitingForCapability(
      'too_large_for_stranger',
      waitingRefusals['too_large_for_stranger'] as string,
    )
  const home = peer.log.home as string
  const granted = grants(ctx, entry)
  const introduces = held === undefined || ctx.peers.introducedTo(entry.peer) !== ownState(ctx)
  const body = messageBody(ctx, entry, { granted, introduces })
  const sealed = await sealEnvelope({
    body,
    identitySeed: ctx.identity.seed,
    recipientKey: { kid: key.kid, publicKey: key.publicKey },
    expMs: latestExpMs(ctx.hubNow()),
    credential: held === undefined ? { kind: 0 } : { kind: 1, granted: held.granted, homeHub: home },
    attachments: attachments.map(attachment => ctx.attachments.read(cidText(attachment.cid))),
    random: ctx.random,
  })
  noteSealed(ctx, entry, { digest: sealed.digest, granted, introduces, capability: held?.id })
  return {
    expMs: sealed.head.expMs,
    capability: held && { id: held.id, body: held.granted.capability.body },
    delivery: {
      recipient: entry.peer,
      home,
      access: sealed.head.access,
      digest: sealed.digest,
      size: sealed.size,
      credential: held === undefined ? 'session' : 'capability',
      content: () => sealed.stream(),
    },
  }
}

type KeyedPeer = Peer & { keys: NonNullable<Peer['keys']> }

const isKeyed = (peer: Peer): peer is KeyedPeer => peer.keys !== undefined && peer.log.home !== undefined

/** The recipient with keys that are good now, from here or from the directory. */
async function knownPeer(ctx: Needs, aid: string): Promise<KeyedPeer> {
  const held = ctx.peers.find(aid)
  if (held?.log.deactivated === true) throw new WaitingForKeys('ended')
  const isGood = (peer: KeyedPeer) => sealingKey(peer.keys, ctx.hubNow()) !== undefined
  if (held !== undefined && isKeyed(held) && isGood(held)) return held
  const looked = await ctx.directory.lookup(aid, { fresh: held !== undefined })
  if (looked.outcome !== 'found') throw awaitedAfter(looked)
  const { peer } = looked
  if (peer.log.deactivated) throw new WaitingForKeys('ended')
  if (!isKeyed(peer)) throw new WaitingForKeys('unusable_keys')
  if (!isGood(peer)) throw new WaitingForKeys('expired')
  return peer
}

/** Reply capabilities of this message: those it carried before, while they are good, or what the recipient's stock lacks. */
function grants(ctx: Needs, entry: OutboxEntry): GrantedCapability[] {
  const { kind } = ctx.threads.message(entry.message)
  const leaves = kind === kinds.declined || kind === kinds.cancelled
  if (leaves || !mayHoldCapabilities(ctx, entry.peer)) return []
  const alone = kind === kinds.capabilities
  if (entry.granted === null) return ctx.capabilities.topUp(entry.peer, alone)
  const kept = grantedList.read(decode(entry.granted), 'granted')
  return kept.length > 0 && kept.every(({ capability }) => ctx.capabilities.isIssued(capability.body.id))
    ? kept
    : ctx.capabilities.topUp(entry.peer, alone)
}

function messageBody(
  ctx: Needs,
  entry: OutboxEntry,
  given: { granted: GrantedCapability[]; introduces: boolean },
): MessageBody {
  const message = ctx.threads.message(entry.message)
  const interaction = message.interaction === null ? undefined : ctx.threads.byKey(message.interaction)
  const { log } = ctx.identity
  const introduces =
    given.introduces || message.kind === kinds.delegate || message.kind === kinds.capabilities
  return {
    v: 1,
    from: ctx.identity.aid,
    kelSeq: log.seq,
    to: entry.peer,
    messageId: message.messageId,
    tsMs: ctx.hubNow(),
    kind: message.kind,
    ...present({ interactionId: interaction === undefined ? undefined : fromBase64url(interaction.id) }),
    number: message.number,
    storedUpTo: interaction?.heldTo ?? 0,
    payload: message.payload,
    ...present({ capabilities: given.granted.length === 0 ? undefined : given.granted }),
    kelHeadDigest: log.headDigest,
    handleSecret: entry.handleSecret,
    attachments: ctx.threads.attachmentsOf(entry.message),
    ...present({
      kel: introduces ? [...log.events] : undefined,
      keySet: introduces && ctx.keys.set !== undefined ? ctx.keys.set : undefined,
    }),
  }
}

/** Every digest ever made for a message is durable before its envelope leaves: a confirmation may name any of them. */
function noteSealed(
  ctx: Needs,
  entry: OutboxEntry,
  sealed: {
    digest: Uint8Array
    granted: GrantedCapability[]
    introduces: boolean
    capability: Uint8Array | undefined
  },
): void {
  const digests = [...(JSON.parse(entry.digests) as string[]), toBase64url(sealed.digest)].slice(
    -DIGESTS_KEPT_MAX,
  )
  // lost with the power, the message is sealed and sent anew, under its own id
  ctx.store.unflushed(() => {
    if (sealed.capability !== undefined) ctx.capabilities.spend(sealed.capability)
    noteSealing(ctx.store, entry.message, {
      digests: JSON.stringify(digests),
      granted: encode(grantedList.write(sealed.granted) as CborValue),
      introduces: sealed.introduces ? ownState(ctx) : null,
    })
  }, 'node.seal')
}
