/** The attacking process: reads its orders from standard input, carries them out, prints what it did. */
import { text } from 'node:stream/consumers'
import { attack } from './attacks.ts'
import type { Orders } from './orders.ts'

const orders = JSON.parse(await text(process.stdin)) as Orders
process.stdout.write(`${JSON.stringify(await attack(orders))}\n`)
