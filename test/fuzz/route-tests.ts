/** The tests of every route of a line: so many mutated requests each, and broken connections after them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request, type TestHub } from '../../hub/testing/hub.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { type FuzzLine, fuzzConnection, fuzzRoute } from './traffic.ts'
import { wire1Line } from './wire1-line.ts'
import { wire3Line } from './wire3-line.ts'

export function testRoutes(cases: number, connections: number): void {
  testLine(wire3Line, cases, connections)
  testLine(wire1Line, cases, connections)
}

function testLine<W extends { hub: TestHub }>(line: FuzzLine<W>, cases: number, connections: number): void {
  const first = seed
  let world: W
  const faults = () => world.hub.alerts.filter(({ event }) => event === 'request failed')

  describe(`wire ${line.wire}`, () => {
    beforeAll(async () => {
      world = await line.start()
    })
    afterAll(() => world.hub.close())

    test.each(Object.keys(line.rows))(
      `%s answers ${cases} mutated requests (from ${first}) with codes of its row and never fails`,
      async name => {
        for (let seed = first; seed < first + cases; seed++)
          expect(await fuzzRoute(line, name, world, seed), `seed ${seed}`).toBeUndefined()
        expect(faults()).toEqual([])
      },
    )

    test(`${connections} broken connections (from ${first}) leave the hub serving`, async () => {
      for (let seed = first; seed < first + connections; seed++) await fuzzConnection(line, world, seed)
      expect(
        (await request(`${world.hub.url}/healthz`, 'GET', { headers: line.always })).json['status'],
      ).toBe('ok')
      expect(faults()).toEqual([])
    })
  })
}
