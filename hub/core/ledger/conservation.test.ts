/**
 * The law of the ledger (objects: payment): no operation, repeated, refused or interrupted, makes or loses a credit, and
 * no id is posted twice. Random operations run beside a model of what they should do.
 */
import { test } from 'vitest'
import { keepsTheLaw } from '../../testing/ledger-law.ts'

const STEPS = 2000
const CRASH_EVERY = 25

test(`${STEPS} random operations keep the law, and every balance is that of the model`, () =>
  keepsTheLaw(STEPS, CRASH_EVERY))
