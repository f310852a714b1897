/** The tests of every route of a line: so many mutated requests each, and broken connections after them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { request, type TestHub } from '../../hub/testing/hub.ts'
import { seed } from '../../protocol/testing/slow.ts'
import { adminLine, watchedLine } from './operator-lines.ts'
import { type FuzzLine, fuzzConnection, fuzzRoute, urlOf } from './traffic.ts'
import { wire1Line } from './wire1-line.ts'
import { wire3Line } from './wire3-line.ts'

export function testRoutes(cases: number, connections: number): void {
  testLine(wire3Line, cases, connections)
  testLine(wire1Line, cases, connections)
  testLine(adminLine, cases, connections)
  testLine(watchedLine, cases, connections)
}

function testLine<W extends { hub: TestHub }>(line: FuzzLine<W>, cases: number, connections: number): void {
  const first = seed
  let world: W
  const faults = () => world.hub.alerts.filter(({ event }) => event === 'request failed')

  describe(line.name, () => {
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
      const url = `${urlOf(line, world)}${line.health}`
      expect((await request(url, 'GET', { headers: line.always })).status).toBe(200)
      expect(faults()).toEqual([])
    })

    test('no secret of its requests is in the log', () => {
      const told = JSON.stringify(world.hub.alerts)
      expect(line.secrets?.filter(secret => told.includes(secret)) ?? []).toEqual([])
    })
  })
}
