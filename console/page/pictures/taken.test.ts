/** How long tasks took, out of the chain. */
import { expect, test } from 'vitest'
import type { EvidenceRecord } from '../../../view/state.ts'
import { firstView } from '../../../view/state.ts'
import { takenOf } from './taken.ts'

const record = (seq: number, event_type: string, corr_id: string, timestamp: number) =>
  ({ seq, event_type, corr_id, timestamp }) as EvidenceRecord

test('a task took from its delegation to its accepted result, where both are here', () => {
  const records = [
    record(5, 'svc.result.accepted', 'one', 9_000),
    record(4, 'svc.result.accepted', 'unseen', 8_000),
    record(3, 'svc.interaction.receipt', 'two', 7_000),
    record(2, 'svc.delegation.sent', 'two', 5_000),
    record(1, 'svc.delegation.sent', 'one', 4_000),
  ]
  expect(takenOf({ evidence: { ...firstView.evidence, records } })).toEqual([
    { seq: 5, at: 9_000, ms: 5_000 },
  ])
})
