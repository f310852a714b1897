import { test } from 'vitest'
import { scanAfter } from './scan.ts'

test(
  'after 10,000 sends of both kinds no file of the hub holds anything of a sender that is not registered there',
  { timeout: 900_000 },
  () => scanAfter(10_000),
)
