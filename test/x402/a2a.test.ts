/** The stock packages of x402 pay for a call over the A2A interface of a node; installed by `npm ci --prefix test/x402`. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import { toHex } from '../../protocol/encoding/bytes.ts'
import { openA2aLab } from '../a2a/world.ts'
import { never } from '../two-nodes/world.ts'

const here = new URL('.', import.meta.url).pathname
const installed = existsSync(`${here}node_modules/@x402/core`)

test.skipIf(!installed)(
  'a call is paid for by the stock client (skipped without: npm ci --prefix test/x402)',
  async () => {
    const service = createServer((_, response) => response.end('{"celsius":21}')).listen(0, '127.0.0.1')
    await once(service, 'listening')
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/`
    const modules = { service: [{ id: 'weather.now', url }] as never }
    const world = await openA2aLab(dir => writeConfig(dir, { ...readConfig(dir), modules }))
    await world.alice.handlers.priceSet({ capability: 'weather.now', amount: 3 }, never)
    const { aid, seed, log } = world.bob.ctx.identity
    const args = [
      `${here}a2a-client.mjs`,
      world.url,
      world.token,
      'weather.now',
      aid,
      toHex(seed),
      String(log.seq),
    ]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    expect(JSON.parse(stdout)).toMatchObject({
      status: 200,
      body: { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
      paid: { success: true, amount: '3', payer: aid },
    })
    await world.lab.close()
    service.close()
  },
)
