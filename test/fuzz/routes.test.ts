import { testRoutes } from './route-tests.ts'

testRoutes(150, 300)
