/** What is said of another hub that can't be asked. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemTimers } from '../../protocol/timers.ts'
import { OtherHub } from './other-hub.ts'

const tls = (name: string) => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const sealed = createServer({ key: tls('hub.key.pem'), cert: tls('hub.pem') }, (_, response) =>
  response.end(),
)
const plain = createPlainServer((_, response) => response.end())
const at = (server: { address(): unknown }) => `https://127.0.0.1:${(server.address() as AddressInfo).port}`
beforeAll(async () => {
  for (const server of [sealed, plain]) await once(server.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  for (const server of [sealed, plain]) server.close().closeAllConnections()
})

const asked = (url: string) => new OtherHub(url, systemTimers).log()

test('a certificate that this machine does not trust is told as that, not as silence', async () => {
  const url = at(sealed)
  await expect(asked(url)).rejects.toThrow(
    new RegExp(`^no secure connection to ${url}: its certificate is of nobody .*; its operator mends that`),
  )
})

test('something that speaks no TLS is told as that', async () => {
  const url = at(plain)
  await expect(asked(url)).rejects.toThrow(
    `no secure connection to ${url}: what answers there speaks no TLS; `,
  )
})

test('what does not answer says why', async () => {
  const url = 'http://127.0.0.1:9'
  await expect(asked(url)).rejects.toThrow(`${url} does not answer: `)
})
