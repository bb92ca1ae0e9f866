#!/bin/sh
# Builds echarts.min.js: the parts of Apache ECharts that the HTML report draws with, minified into
# one file that defines `echarts`. Needs node, npm and its registry; the normal build does not:
# its output is committed. Run it by hand to update the version, then check a report.
set -eu

ECHARTS=6.1.0
ESBUILD=0.28.2

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

npm init -y >npm.log
npm install --no-audit --no-fund --save-exact "echarts@$ECHARTS" "esbuild@$ESBUILD" >>npm.log

cat >entry.js <<'JS'
import { init, use } from 'echarts/core';
import { BarChart, BoxplotChart, CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent,
  MarkLineComponent, TooltipComponent, VisualMapComponent,
} from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';

use([
  AriaComponent, BarChart, BoxplotChart, CanvasRenderer, CustomChart, DataZoomComponent,
  GridComponent, LegendComponent, LineChart, MarkAreaComponent, MarkLineComponent, ScatterChart,
  TooltipComponent, VisualMapComponent,
]);
export { init };
JS

zrender=$(node -p "require('zrender/package.json').version")
{
  echo "/*!"
  echo "Apache ECharts $ECHARTS, a selection of its modules, minified."
  cat node_modules/echarts/NOTICE
  echo
  echo "Licensed under the Apache License, Version 2.0"
  echo "(http://www.apache.org/licenses/LICENSE-2.0)."
  echo "Contains code of d3, Copyright 2010-2017 Mike Bostock, under the BSD 3-Clause License"
  echo "below."
  echo "Contains ZRender $zrender under the same licence:"
  echo
  cat node_modules/zrender/LICENSE
  echo
  echo "*/"
} | sed 's/[[:space:]]*$//' >banner.txt

npx esbuild entry.js --bundle --minify --format=iife --global-name=echarts --target=es2020 \
  --charset=utf8 --legal-comments=none --define:process.env.NODE_ENV='"production"' \
  --outfile=bundle.js
cat banner.txt bundle.js | sed 's/[[:space:]]*$//' >"$here/echarts.min.js"
{ cat node_modules/echarts/LICENSE; echo; cat node_modules/echarts/licenses/LICENSE-d3; } |
  sed "s/[[:space:]]*$//" >"$here/echarts.LICENSE"
sed 's/[[:space:]]*$//' node_modules/echarts/NOTICE >"$here/echarts.NOTICE"
sed 's/[[:space:]]*$//' node_modules/zrender/LICENSE >"$here/zrender.LICENSE"
wc -c "$here/echarts.min.js"
