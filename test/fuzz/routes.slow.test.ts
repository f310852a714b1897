import { testRoutes } from './route-tests.ts'

testRoutes(20_000, 20_000)
