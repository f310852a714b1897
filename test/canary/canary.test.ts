/** The hub never learns who sends: the whole-hub scan over really sealed mail, small here, 10,000 sends in the slow suite. */
import { test } from 'vitest'
import { scanAfter, scanBothAfter } from './scan.ts'

test(
  'after 150 sends of both kinds no file of the hub holds anything of a sender that is not registered there',
  { timeout: 300_000 },
  () => scanAfter(150),
)

test(
  'after 150 sends beside as much mail that the hub can read no file holds anything of a sender of sealed mail',
  { timeout: 300_000 },
  () => scanAfter(150, { beside: true }),
)

test(
  'after 150 sends to agents of a peer neither hub holds anything of an outsider, and the peer nothing of who opened sessions',
  { timeout: 300_000 },
  () => scanBothAfter(150),
)
