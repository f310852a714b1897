/** Reviews, reputation and graph (hub API §4.3). */
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { Attestation } from '../../protocol/proof/receipt.ts'
import type { Hub } from '../core/hub.ts'
import { afterAid, cursorOf } from '../core/listing.ts'
import { Refusal } from '../core/refusal.ts'
import { average } from '../core/reviews.ts'
import type { Part } from './handler.ts'

const NODES_MAX = 1000
const NOTE =
  'Each review rests on a receipt that provider and requester signed. concentration is the share of the reviewer with the most reviews; many reviews of few reviewers say little.'

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
      if ((await hub.agents.find(aid)) === undefined) throw new Refusal('unknownAgent')
      const { reviews, ratings, reviewers, mostOfOne } = await hub.reviews.reputation(aid)
      const local = { reviews, avg_rating: average(ratings, reviews) }
      return {
        aid,
        local,
        peers: [],
        combined: local,
        concentration: reviews === 0 ? 0 : mostOfOne / reviews,
        distinct_reviewers: reviewers,
        note: NOTE,
      }
    },
    async graph({ query }) {
      const { rows, next } = await hub.directory.list(afterAid(query.cursor), NODES_MAX)
      const nodes = rows.map(({ aid, name, caps }) => ({ aid, name, caps, registered: true }))
      return { nodes, edges: [], ...present({ next: next && cursorOf(next) }) }
    },
  }
}
