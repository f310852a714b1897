/** The law of the ledger over a million operations: what comes with size, a count that grows too slowly included. */
import { test } from 'vitest'
import { sliced } from '../../../protocol/testing/slow.ts'
import { keepsTheLaw } from '../../testing/ledger-law.ts'

const STEPS = Number(process.env['STEPS'] ?? sliced(1_000_000, 5000))
/** Some three hundred in a million steps. */
const CRASH_EVERY = 250
const TIMEOUT_MS = 2 * 3_600_000

test(
  `${STEPS} random operations keep the law, and every balance is that of the model`,
  () => keepsTheLaw(STEPS, CRASH_EVERY),
  TIMEOUT_MS,
)
