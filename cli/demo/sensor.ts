/** What bob's node sells in a demo. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Step, same } from './step.ts'
import type { World } from './world.ts'

/** A local service that bob's node serves; it counts what it is asked, and answers when it is let. */
export class Sensor {
  readonly #server: Server
  readonly #waiting: ServerResponse[] = []
  asked = 0
  holds = false

  constructor() {
    this.#server = createServer((request, response) => {
      this.asked += 1
      if (request.url === '/broken') response.writeHead(500).end('{}')
      else if (this.holds) this.#waiting.push(response)
      else this.#answer(response)
    })
  }

  async listen(): Promise<string> {
    await new Promise<void>(done => this.#server.listen(0, '127.0.0.1', done))
    this.#server.unref()
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  release(): void {
    this.holds = false
    for (const response of this.#waiting.splice(0)) this.#answer(response)
  }

  #answer(response: ServerResponse): void {
    response.end('{"celsius":21}')
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** The step that starts it; `keep` hands it on to later steps. */
export const sensorStep = (
  title: string,
  keep: (world: World, service: Sensor, url: string) => void,
): Step => ({
  name: 'sensor',
  title,
  async run(world, _facts, spoiled) {
    const service = new Sensor()
    world.atEnd(() => service.close())
    const url = await service.listen()
    keep(world, service, url)
    const answer = (await (await fetch(spoiled ? `${url}/broken` : url)).json()) as { celsius?: number }
    same('what the service says', answer.celsius, 21)
    service.asked = 0
    return `${url} says 21 °C`
  },
})
