#pragma once
#include "emu/async.h"
