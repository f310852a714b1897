/** What peers ask of this hub, and who they are (hub API §4.2, §4.6). */
import { createHash } from 'node:crypto'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { encodeKel, type VerifiedKel } from '../../protocol/identity/kel.ts'
import { wire3Routes } from '../../protocol/wire3/routes.ts'
import { requestPrefix } from '../../protocol/wire3/signed-request.ts'
import type { ByteSource } from '../core/envelope-body.ts'
import type { ShownProof } from '../core/federation/calls.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { ToldCard } from '../store/peer-card-port.ts'
import type { ToldReview } from '../store/peer-review-port.ts'
import type { Incoming, Part } from './handler.ts'
import { bytesOr, readAccess, sendAnswer } from './relay.ts'

type Names = 'hubKels' | 'fedForward' | 'fedBucket' | 'fedStatus' | 'fedClear' | 'fedReviews' | 'fedCards'

export function fedHandlers(hub: Hub): Part<Names> {
  return {
    async hubKels() {
      return { hubs: hub.context.peers.all.map(({ aid, log }) => ({ aid, kel: shownKel(log) })) }
    },
    fedForward: incoming => forward(hub, incoming),
    async fedBucket({ signer, body }) {
      const afterH = body.cursor === undefined ? undefined : fromBase64url(body.cursor)
      const asked = { prefix: body.prefix, bits: body.bits, afterH }
      const read = () => hub.directory.federated(asked)
      const found = await hub.federation.answer(signer, read, ({ entries }) => bytesOf(entries))
      return {
        max_bits: found.bitsMax,
        entries: found.entries.map(({ h, box }) => ({ h: toBase64url(h), box: toBase64url(box) })),
        ...present({ next: found.next === undefined ? undefined : toBase64url(found.next) }),
      }
    },
    async fedStatus({ signer, body }) {
      await hub.federation.count(signer)
      const items = body.items.map(({ rid, handle }) => ({
        rid: bytesOr(rid, 'statusQueryMalformed'),
        handle: bytesOr(handle, 'statusQueryMalformed'),
      }))
      const states = await hub.mailboxes.status(items, signer.aid)
      return {
        items: states.map(({ state, dack }) => ({ state, ...present({ dack: dack && toBase64url(dack) }) })),
      }
    },
    async fedClear({ signer, body }) {
      await hub.federation.count(signer)
      const { restored: atMs, lost_since: lostSinceMs } = body
      const { owed, restored } = await hub.clearing.answer(signer, {
        due: body.due,
        proofs: shownProofs(body),
        restored: atMs === undefined || lostSinceMs === undefined ? undefined : { atMs, lostSinceMs },
      })
      const ofRestore = restored && { restored: restored.atMs, lost_since: restored.lostSinceMs }
      return { peer: signer.aid, owed, ...ofRestore }
    },
    async fedReviews({ signer, query }) {
      const read = () => hub.reviews.told(signer.aid, Number(query.cursor ?? 0))
      const { told, more } = await hub.federation.answer(signer, read, page => bytesOf(page.told))
      return { reviews: told.map(shownReview), ...present({ next: more ? told.at(-1)?.fedSeq : undefined }) }
    },
    async fedCards({ signer, query }) {
      const read = () => hub.directory.told(Number(query.cursor ?? 0))
      const { told, more } = await hub.federation.answer(signer, read, page => bytesOf(page.told))
      return { cards: told.map(shownCard), ...present({ next: more ? told.at(-1)?.fedSeq : undefined }) }
    },
  }
}

/** All bytes that stand in these rows. */
const bytesOf = (rows: readonly object[]): number =>
  rows.reduce((sum, row) => sum + Object.values(row).reduce((bytes, one) => bytes + lengthOf(one), 0), 0)

const lengthOf = (value: unknown): number => (value instanceof Uint8Array ? value.length : 0)

/** Histories of peers as they are shown, which is to whoever asks. */
const shownKels = new WeakMap<VerifiedKel, string>()
function shownKel(log: VerifiedKel): string {
  const shown = shownKels.get(log) ?? toBase64url(encodeKel(log.events))
  shownKels.set(log, shown)
  return shown
}

function shownProofs({
  receipt,
  statement,
}: {
  receipt?: string | undefined
  statement?: string | undefined
}) {
  const proofs: ShownProof[] = []
  if (receipt !== undefined) proofs.push({ kind: 'receipt', bytes: fromBase64url(receipt) })
  if (statement !== undefined) proofs.push({ kind: 'statement', bytes: fromBase64url(statement) })
  return proofs
}

const REVIEW_FORMAT = 1

const shownWithdrawal = ({ fedSeq, withdrawn }: { fedSeq: number; withdrawn: string }) => ({
  aid: withdrawn,
  withdrawn: true as const,
  fed_seq: fedSeq,
})

const shownCard = (one: ToldCard) =>
  'withdrawn' in one
    ? shownWithdrawal(one)
    : { kel: toBase64url(one.kel), keys: toBase64url(one.keys), fed_seq: one.fedSeq }

const shownReview = (one: ToldReview) =>
  'withdrawn' in one
    ? shownWithdrawal(one)
    : {
        format: REVIEW_FORMAT as typeof REVIEW_FORMAT,
        receipt: toBase64url(one.receipt),
        review: toBase64url(one.review),
        attestation: toBase64url(one.attestation),
        provider_kel: toBase64url(one.kel),
        fed_seq: one.fedSeq,
      }

/** The signature covers the body, so it is checked when all of that is here, and before anything of it is taken. */
async function forward(hub: Hub, incoming: Incoming<'fedForward'>) {
  const { signer } = incoming
  const { accessBytes, access } = readAccess(incoming.headers)
  const { source, declared } = incoming.openBody()
  const { method, path } = wire3Routes.fedForward
  const digest = createHash('sha256').update(requestPrefix(method, path))
  const hashed: ByteSource = {
    accept: recipient => source.accept(recipient),
    async next() {
      const chunk = await source.next()
      if (chunk !== undefined) digest.update(chunk)
      return chunk
    },
  }
  try {
    const sent = await hub.sends.send({
      access,
      accessBytes,
      session: undefined,
      from: signer.aid,
      towards: hub.sends.towards(undefined),
      source: hashed,
      declared,
      async confirm() {
        await incoming.verifyDigest(digest.digest())
        await hub.federation.count(signer)
      },
    })
    return sendAnswer(sent)
  } catch (error) {
    throw error instanceof Refusal && error.code === 'recipientUnknown'
      ? new Refusal('unknownDestination')
      : error
  } finally {
    source.close()
  }
}
