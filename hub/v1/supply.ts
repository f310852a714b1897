/** What a hub publishes of its supply over wire 1: figures of this moment, the whole chain, and its witnesses. */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64, toBase64 } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import type { Hub } from '../core/hub.ts'
import type { PublishedRecord } from '../core/supply/publication.ts'
import type { ShownStatement, WitnessList } from '../core/supply/witnesses.ts'
import type { Part } from './handler.ts'

type Names = 'supply' | 'issuance' | 'issuanceHead' | 'witness' | 'witnesses'

const MS_PER_SECOND = 1000
const RECORDS_MAX = 200
const SUPPLY_NOTE =
  'balances is what all accounts have, chain_* the sum of the signed records of this hub. Where chain_agrees is false, credits moved without a record.'
const ISSUANCE_NOTE = `At most ${RECORDS_MAX} records; ask on from the one after the last until head_seq.`
const WITNESS_NOTE =
  'Each witness followed the chain link by link up to the record that it names. Compare these with the chain that you are shown; one that names another record at its place is evidence of two histories.'

export function supplyHandlers(hub: Hub, baseUrl: () => string): Part<Names> {
  const { publication, liveSupply } = hub
  const { aid } = hub.context.identity
  return {
    async supply() {
      const { totals, balances, chain, agrees, head } = await liveSupply.now()
      return {
        hub: aid,
        supply: {
          issued: totals.issued,
          redeemed: totals.retired,
          outstanding: balances,
          balances,
          owed_by_peers: totals.owedByPeers,
          due_to_peers: totals.dueToPeers,
          chain_issued: chain.issued,
          chain_retired: chain.retired,
          chain_opening: chain.opening,
          chain_outstanding: chain.outstanding,
          chain_agrees: agrees,
          chain_head: cidText(head.id),
          chain_head_seq: head.seq,
        },
        note: SUPPLY_NOTE,
      }
    },
    async issuance({ query }) {
      const { entries } = await publication.records(Number(query.from ?? 0), RECORDS_MAX)
      const { seq, id } = hub.supply.head
      const shown = entries.map(record => shownRecord(record, aid))
      return {
        chain_did: chainDid(aid),
        entries: shown,
        head_id: cidText(id),
        head_seq: seq,
        note: ISSUANCE_NOTE,
      }
    },
    async issuanceHead() {
      const { seq, id } = hub.supply.head
      return { chain_did: chainDid(aid), seq, head_id: cidText(id) }
    },
    async witness({ body, address }) {
      const kel = body.kel === undefined ? undefined : fromBase64(body.kel)
      const attestation = fromBase64(body.attestation)
      return { status: await hub.witnesses.take({ attestation, kel, address }) }
    },
    async witnesses() {
      const list = await hub.witnesses.list()
      return {
        chain_did: chainDid(aid),
        attestations: list.statements.map(shownStatement),
        health: healthOf(list, hub.context.now()),
        witness_endpoints: list.named.flatMap(({ aid: of, url }) =>
          url === undefined ? [] : [{ aid: of, url }],
        ),
        verify: `svc verify --attestation <attestation> --hub ${baseUrl()}`,
        note: WITNESS_NOTE,
      }
    },
  }
}

/** A record that moves no credits is about the hub itself. */
const shownRecord = ({ seq, id, previous, kind, atMs, change, record }: PublishedRecord, hub: string) => ({
  seq,
  id: cidText(id),
  prev_id: cidText(previous),
  kind,
  ...(change ?? { aid: hub, amount: 0, reason: 'epoch' }),
  at: atMs,
  record: toBase64(record),
})

const shownStatement = ({ body, bytes, kel }: ShownStatement) => ({
  witness: body.witness,
  seq: body.seq,
  head_id: cidText(body.headId),
  observed_at: body.observedAt,
  attestation: toBase64(bytes),
  ...present({ kel: kel && toBase64(kel) }),
})

function healthOf({ statements, named, latest, unwitnessed }: WitnessList, nowMs: number) {
  return {
    witnesses: named.length,
    attestations: statements.length,
    latest_seq: latest?.seq ?? null,
    stale_seconds:
      latest === undefined ? null : Math.max(0, Math.floor((nowMs - latest.observedMs) / MS_PER_SECOND)),
    unwitnessed_records: unwitnessed,
    witness_aids: named.map(one => one.aid),
  }
}
