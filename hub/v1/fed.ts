/** What other hubs ask over wire 1: mail that they hand on, and who is here and was reviewed here. */
import type * as z from 'zod'
import { faultIn } from '../../protocol/contract/fault.ts'
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import { FORWARD_VERSION } from '../../protocol/mail/forward.ts'
import { forwardHead, forwardRecord } from '../../protocol/wire1/routes/fed.ts'
import type { Hub } from '../core/hub.ts'
import type { OpenFederation } from '../core/open-federation/open-federation.ts'
import type { GivenForward } from '../core/open-federation/received.ts'
import type { Payload } from '../core/open-mail/letter-files.ts'
import { Refusal } from '../core/refusal.ts'
import { jsonText, textReply } from '../http/reply.ts'
import type { Part } from './handler.ts'
import { Wire1Refusal } from './refusals.ts'
import { numberOf, shownReviews } from './reviews.ts'

type Names = 'fedForward' | 'fedCards' | 'fedReviews'

const ACCEPTED = 202

/** Refuses what this hub does not do for others, before anything of a request is read. */
export function checkFederated({ openFederation }: Hub, name: string): void {
  if (name !== 'fedForward' && name !== 'fedCards' && name !== 'fedReviews') return
  if (openFederation === undefined)
    throw new Wire1Refusal(
      'forbidden',
      'this hub exchanges no open mail with others; ask its operator to start it with --wire1-federation',
    )
  if (name !== 'fedForward' && !openFederation.tells)
    throw new Wire1Refusal(
      'forbidden',
      'this hub does not tell others of its agents; ask its operator to start it with --wire1-discovery',
    )
}

export function fedHandlers(hub: Hub): Part<Names> {
  return {
    async fedForward({ body, lifted }) {
      const outcome = await on(hub).received.take(givenOf(body, lifted))
      if (outcome === 'repeated') return { status: 'DUPLICATE' as const }
      return textReply('application/json', jsonText({ status: 'queued' }), {}, ACCEPTED)
    },
    async fedCards({ query }) {
      const { cursor, cards } = await on(hub).toldCards.after(numberOf(query.cursor ?? '0', 'cursor'))
      const home = hub.context.identity.aid
      return {
        cursor,
        cards: cards.map(({ card, kel, fedSeq }) => ({ card, kel: toBase64(kel), home, fed_seq: fedSeq })),
      }
    },
    async fedReviews({ query }) {
      const { reviews, next } = await shownReviews(hub.openReviews, numberOf(query.cursor ?? '0', 'cursor'))
      return { cursor: next, reviews }
    },
  }
}

function on({ openFederation }: Hub): OpenFederation {
  if (openFederation === undefined) throw new Error('a route of a federation that is off')
  return openFederation
}

/** Its version is judged before its members: another one may have others. */
function givenOf(body: { v: number }, lifted: Payload): GivenForward {
  if (body.v !== FORWARD_VERSION)
    throw new Wire1Refusal(
      'too_new',
      `this hub takes forward records of version ${FORWARD_VERSION}; write that one`,
    )
  const head = readAs(forwardHead, body)
  return {
    ...{ v: head.v, origin: head.origin_hub_aid, dest: head.dest_aid, from: head.from_aid },
    ...{ kind: head.kind, interaction: head.interaction_id, payloadCid: head.payload_cid },
    ...{ hop: head.hop, seenHubs: head.seen_hubs, ts: head.ts, kelSeq: head.key_state_seq },
    signature: fromBase64(head.sig),
    payload() {
      readAs(forwardRecord, body)
      return lifted
    },
  }
}

function readAs<S extends z.ZodType>(shape: S, body: unknown): z.infer<S> {
  const read = shape.safeParse(body)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new Refusal('requestMalformed', issue && { why: faultIn(issue, body, 'the record') })
}
