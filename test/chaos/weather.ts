/** A service on HTTP whose calls nodes sell: one that answers, and one that fails. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const ANSWER_MS = 200

/** Calls of it, as the module `service` of a node lists them. */
export type Weather = { services: { id: string; url: string }[]; close(): void }

export async function openWeather(): Promise<Weather> {
  const service = createServer((request, response) => {
    const isBroken = request.url === '/broken'
    setTimeout(() => response.writeHead(isBroken ? 500 : 200).end('{"celsius":21}'), ANSWER_MS)
  })
  await new Promise<void>(done => service.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const services = [
    { id: 'weather.now', url: `${url}/weather` },
    { id: 'weather.broken', url: `${url}/broken` },
  ]
  return { services, close: () => void service.close() }
}
