/** What a hub publishes of its supply over wire 3 (hub API §4.4, §6). */
import { cidText } from '../../protocol/crypto/hash.ts'
import { fromBase64url, toBase64url } from '../../protocol/encoding/bytes.ts'
import { present } from '../../protocol/encoding/present.ts'
import { chainDid } from '../../protocol/proof/evidence.ts'
import { ISSUANCE_LIMIT_MAX } from '../../protocol/wire3/routes/supply.ts'
import type { Hub } from '../core/hub.ts'
import { Refusal } from '../core/refusal.ts'
import type { PublishedRecord } from '../core/supply/publication.ts'
import type { ShownStatement, WitnessList } from '../core/supply/witnesses.ts'
import { textReply } from '../http/reply.ts'
import type { Part } from './handler.ts'
import { limitOf } from './limit.ts'

type Names = CheckpointNames | 'supply' | 'issuance' | 'issuanceHead' | 'witnesses' | 'witness' | 'witnessed'

const ISSUANCE_LIMIT_DEFAULT = 500
const MS_PER_SECOND = 1000

export function supplyHandlers(hub: Hub, baseUrl: () => string): Part<Names> {
  const { publication } = hub
  const { identity } = hub.context
  return {
    async supply() {
      const { seq, id, record, epoch } = await publication.newestEpoch()
      return {
        ...epoch,
        root: toBase64url(epoch.root),
        seq,
        id: cidText(id),
        record: toBase64url(record),
      }
    },
    async issuance({ query }) {
      const from = Number(query.from ?? 0)
      const limit = limitOf(query.limit, ISSUANCE_LIMIT_DEFAULT, ISSUANCE_LIMIT_MAX)
      const { entries, next } = await publication.records(from, limit)
      return {
        chain_did: chainDid(identity.aid),
        entries: entries.map(shownRecord),
        head_seq: hub.supply.head.seq,
        head_id: cidText(hub.supply.head.id),
        ...present({ next: next === undefined ? undefined : String(next) }),
      }
    },
    async issuanceHead() {
      const { seq, id } = hub.supply.head
      return { chain_did: chainDid(identity.aid), seq, head_id: cidText(id) }
    },
    ...checkpointHandlers(hub),
    async witnesses() {
      const list = await hub.witnesses.list()
      return {
        chain_did: chainDid(identity.aid),
        attestations: list.statements.map(shownStatement),
        health: healthOf(list, hub.context.now()),
        witness_endpoints: list.named.flatMap(({ aid, url }) => (url === undefined ? [] : [{ aid, url }])),
        verify: `svc verify --attestation <attestation> --hub ${baseUrl()}`,
        note: NOTE,
      }
    },
    async witnessed({ params, query }) {
      const of = params['aid'] ?? ''
      const from = Number(query.from ?? 0)
      const limit = limitOf(query.limit, ISSUANCE_LIMIT_DEFAULT, ISSUANCE_LIMIT_DEFAULT)
      const kept = await hub.context.store.watchedRecords({ hub: of, from, limit })
      if (kept === undefined) throw new Refusal('unknownAgent')
      return {
        chain_did: chainDid(of),
        from,
        records: kept.records.map(record => toBase64url(record)),
        length: kept.length,
        attestation: toBase64url(kept.statement),
      }
    },
    async witness({ body, address }) {
      const attestation = fromBase64url(body.attestation)
      const kel = body.kel === undefined ? undefined : fromBase64url(body.kel)
      return { status: await hub.witnesses.take({ attestation, kel, address }) }
    },
  }
}

type CheckpointNames = 'checkpoint' | 'checkpointConsistency' | 'checkpointInclusion'

function checkpointHandlers(hub: Hub): Part<CheckpointNames> {
  const did = () => chainDid(hub.context.identity.aid)
  return {
    async checkpoint({ query }) {
      const asked = { newest: query.newest === 'true', cosigner: query.cosigner }
      return textReply('text/plain; charset=utf-8', await hub.checkpoints.note(asked))
    },
    async checkpointConsistency({ query }) {
      const size = Number(query.size ?? hub.checkpoints.size)
      const old = Number(query.old ?? 0)
      requireTree(size, hub.checkpoints.size)
      if (old > size) throw malformed(`old must be at most size, ${size}`)
      const proof = await hub.checkpoints.consistency(old, size)
      return { chain_did: did(), old, size, proof: proof.map(node => toBase64url(node)) }
    },
    async checkpointInclusion({ query }) {
      const size = Number(query.size ?? hub.checkpoints.size)
      const seq = Number(query.seq ?? size - 1)
      requireTree(size, hub.checkpoints.size)
      if (seq >= size) throw malformed(`seq must be below size, ${size}`)
      const [record] = await hub.context.store.supplyRecords(seq, 1)
      if (record === undefined) throw new Error(`the supply chain has no record ${seq}`)
      const proof = await hub.checkpoints.inclusion(seq, size)
      return {
        chain_did: did(),
        ...{ seq, size, id: cidText(record.id) },
        proof: proof.map(node => toBase64url(node)),
      }
    },
  }
}

const malformed = (why: string) => new Refusal('requestMalformed', { why })

function requireTree(size: number, records: number): void {
  if (size < 1 || size > records)
    throw malformed(`size must be from 1 to ${records}, the records that there are`)
}

const NOTE =
  'Each witness followed the chain link by link up to the record that it names. Compare these with the chain that you are shown; one that names another record at its place is evidence of two histories.'

const shownRecord = ({ seq, id, previous, kind, atMs, change, record }: PublishedRecord) => ({
  seq,
  id: cidText(id),
  prev_id: cidText(previous),
  kind,
  at: atMs,
  ...change,
  record: toBase64url(record),
})

const shownStatement = ({ body, bytes, kel }: ShownStatement) => ({
  witness: body.witness,
  seq: body.seq,
  head_id: cidText(body.headId),
  observed_at: body.observedAt,
  attestation: toBase64url(bytes),
  ...present({ kel: kel && toBase64url(kel) }),
})

function healthOf({ statements, named, latest, unwitnessed }: WitnessList, nowMs: number) {
  const seen = latest === undefined ? undefined : nowMs - latest.observedMs
  return {
    witnesses: named.length,
    attestations: statements.length,
    latest_seq: latest?.seq ?? null,
    stale_seconds: seen === undefined ? null : Math.max(0, Math.floor(seen / MS_PER_SECOND)),
    unwitnessed_records: unwitnessed,
    witness_aids: named.map(({ aid }) => aid),
  }
}
