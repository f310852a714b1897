// project: programs

import { testRoutes } from './route-tests.ts'

testRoutes(50, 200)
