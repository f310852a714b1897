/** Reviews, reputation and graph (hub API §4.3). */
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Attestation } from '../../protocol/proof/receipt.ts'
import type { Hub } from '../core/hub.ts'
import { afterAid, cursorOf } from '../core/listing.ts'
import { Refusal } from '../core/refusal.ts'
import { average, type FullReputation, ofAllHubs } from '../core/reviews.ts'
import type { Part } from './handler.ts'

type Rated = { reviews: number; ratings: number }

const NODES_MAX = 1000
const NOTE =
  'Each review rests on a receipt that provider and requester signed. peers are the hubs that this one lists; each attests its own reviews, and does not tell how many reviewers wrote them. concentration is the share of the largest source, a reviewer here or a peer; many reviews of few sources say little. distinct_reviewers counts those of this hub.'

const rated = ({ reviews, ratings }: Rated) => ({ reviews, avg_rating: average(ratings, reviews) })

function figuresOf(given: FullReputation) {
  const { peers, reviewers } = given
  const all = ofAllHubs(given)
  return {
    local: rated(given),
    peers: peers.map(one => ({ hub: one.hub, ...rated(one) })),
    combined: rated(all),
    concentration: all.reviews === 0 ? 0 : all.mostOfOne / all.reviews,
    distinct_reviewers: reviewers,
  }
}

export function reviewHandlers(hub: Hub): Part<'uploadReview' | 'reputation' | 'graph'> {
  return {
    async uploadReview({ signer, body, address }) {
      const given = {
        receipt: fromBase64url(body.receipt),
        review: fromBase64url(body.review),
        rsalt: fromBase64url(body.rsalt),
      }
      const attestation = await hub.reviews.upload(signer, given, address)
      return { status: 'accepted', attestation: toBase64url(Attestation.encode(attestation)) }
    },
    async reputation({ params }) {
      const aid = params['aid'] ?? ''
      const own = await hub.reviews.reputation(aid)
      const isReviewed = own.reviews > 0 || own.peers.length > 0
      const isKnown = isReviewed || (await hub.agents.find(aid)) !== undefined
      if (!isKnown) throw new Refusal('unknownAgent')
      return { aid, ...figuresOf(own), note: NOTE }
    },
    async graph({ query }) {
      const { rows, next } = await hub.directory.list(afterAid(query.cursor), NODES_MAX)
      const nodes = rows.map(({ aid, name, caps }) => ({ aid, name, caps, registered: true }))
      return { nodes, edges: [], ...present({ next: next && cursorOf(next) }) }
    },
  }
}
